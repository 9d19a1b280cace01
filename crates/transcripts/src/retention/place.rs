//! Locates an agent's files.

use serde_json::Value;
use std::{
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

/// The environment variables that the agent is started with, its workspace, and the current time.
pub struct Place<'a> {
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    pub workspace: &'a Path,
    pub now: SystemTime,
}

impl Place<'_> {
    /// Returns the folder that a variable names, or a folder below the home folder if it is not set.
    pub(super) fn folder(&self, variable: &str, below_home: &str) -> Option<PathBuf> {
        let set = |name: &str| (self.variable)(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        set(variable).or_else(|| Some(set("HOME")?.join(below_home)))
    }

    pub(super) fn before(&self, time: Duration) -> Option<SystemTime> {
        self.now.checked_sub(time)
    }
}

const SETTINGS_BYTES: u64 = 1 << 20;

pub(super) const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Reads settings files, in order of increasing priority. `None` if one of them cannot be
/// parsed; missing files are skipped.
pub(super) fn read_settings(paths: &[PathBuf], parse: fn(&str) -> Option<Value>) -> Option<Vec<Value>> {
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
