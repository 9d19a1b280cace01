//! Where an agent looks for its files.

use serde_json::Value;
use std::{
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

/// The variables that it is started with, its workspace, and the time.
pub(crate) struct Place<'a> {
    pub(crate) variable: &'a dyn Fn(&str) -> Option<String>,
    pub(crate) workspace: &'a Path,
    pub(crate) now: SystemTime,
}

impl Place<'_> {
    /// Returns a folder that a variable names, or else one below the home folder.
    pub(super) fn folder(&self, variable: &str, below_home: &str) -> Option<PathBuf> {
        let set = |name: &str| (self.variable)(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        set(variable).or_else(|| Some(set("HOME")?.join(below_home)))
    }

    /// Returns the time that was so long ago.
    pub(super) fn before(&self, time: Duration) -> Option<SystemTime> {
        self.now.checked_sub(time)
    }
}

/// Bytes of a settings file.
const SETTINGS_BYTES: u64 = 1 << 20;

pub(super) const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Settings files by rising priority. `None` if one of them cannot be parsed; those that do not exist are left out.
pub(super) fn settings(paths: &[PathBuf], parse: fn(&str) -> Option<Value>) -> Option<Vec<Value>> {
    let mut settings = Vec::new();
    for path in paths {
        let Ok(metadata) = std::fs::metadata(path) else { continue };
        if metadata.len() > SETTINGS_BYTES {
            return None;
        }
        settings.push(parse(&std::fs::read_to_string(path).ok()?)?);
    }
    Some(settings)
}
