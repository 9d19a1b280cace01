//! Configuration of a bridge.

use openagents_transcripts::history::HistoryRoots;
use openagents_wire::IosAccess;
use std::{net::IpAddr, path::PathBuf, sync::OnceLock, time::Duration};

/// Network settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkConfig {
    /// Whether to serve the page and ACP on the network, encrypted. `None`: as set by the user.
    pub lan: Option<bool>,
    /// Port of the encrypted listener; 0 picks one.
    pub port: u16,
    /// Addresses to serve. `None`: those of this machine, followed as they change.
    pub addresses: Option<Vec<IpAddr>>,
    /// Whether to announce the listeners over mDNS.
    pub announce: bool,
}

impl Default for NetworkConfig {
    /// Access as set by the user, on port 9443.
    fn default() -> Self {
        Self { lan: None, port: 9443, addresses: None, announce: true }
    }
}

/// Configuration of a bridge.
#[derive(Debug, Clone)]
pub struct BridgeConfig {
    /// The data folder, which holds the database, the token and the address.
    pub home: PathBuf,
    /// Loopback port; 0 picks one.
    pub port: u16,
    /// The server's own workspace: always admitted, shown to the iOS app, and the fallback of the iOS endpoint.
    pub root: PathBuf,
    /// Access to the iOS endpoint. `None`: as set by the user.
    pub ios: Option<IosAccess>,
    /// Network settings.
    pub network: NetworkConfig,
    /// Folders in which other agents keep their transcripts.
    pub history: HistoryRoots,
    /// Whether the bridge only serves a command and hands the data folder over to a permanent bridge.
    pub temporary: bool,
}

// Limits shared by several modules. Other limits are defined next to the code that they bound.

/// Maximum bytes of a frame before `initialize` on the iOS endpoint.
pub(crate) const UNAUTHENTICATED_FRAME: usize = 64 << 10;
/// Maximum bytes of a frame on the iOS endpoint.
pub(crate) const IOS_FRAME: usize = 1 << 20;
/// Maximum bytes of a frame on the ACP endpoint.
pub(crate) const ACP_FRAME: usize = 16 << 20;
/// Maximum bytes of an output, as compact JSON, that the iOS app shows.
pub(crate) const IOS_OUTPUT: usize = 16_384;
/// Maximum bytes of a whole answer on the iOS endpoint; the app closes its socket at 1 MiB.
pub(crate) const IOS_ANSWER: usize = 900_000;
/// Maximum bytes of an output for ACP clients.
pub(crate) const ACP_OUTPUT: usize = 256 << 10;
/// Bytes of each socket buffer, an eighth of the library's default.
pub(crate) const SOCKET_BUFFER: usize = 16 << 10;
/// A connection ends if its reader takes no frame for this long.
pub(crate) const STUCK: Duration = Duration::from_secs(30);

pub(crate) fn computer_name() -> &'static str {
    static NAME: OnceLock<String> = OnceLock::new();
    NAME.get_or_init(|| {
        let name = host_machine().unwrap_or_default();
        let name = name.split('.').next().unwrap_or_default();
        if name.is_empty() { "your computer".to_owned() } else { name.to_owned() }
    })
}

#[cfg(unix)]
fn host_machine() -> Option<String> {
    Some(rustix::system::uname().nodename().to_string_lossy().into_owned())
}

#[cfg(not(unix))]
fn host_machine() -> Option<String> {
    std::env::var("COMPUTERNAME").ok()
}
