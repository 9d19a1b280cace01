//! This computer.

use std::sync::OnceLock;

/// Returns the host name without the domain.
pub(crate) fn name() -> &'static str {
    static NAME: OnceLock<String> = OnceLock::new();
    NAME.get_or_init(|| {
        let name = host().unwrap_or_default();
        let name = name.split('.').next().unwrap_or_default();
        if name.is_empty() { "your computer".to_owned() } else { name.to_owned() }
    })
}

#[cfg(unix)]
fn host() -> Option<String> {
    Some(rustix::system::uname().nodename().to_string_lossy().into_owned())
}

#[cfg(not(unix))]
fn host() -> Option<String> {
    std::env::var("COMPUTERNAME").ok()
}
