//! Sessions that an agent deletes by itself when it is started, as its own settings say. Only reads its files.

mod claude_code;
mod gemini_cli;

use serde_json::Value;
use std::{
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

/// An agent that deletes its sessions some time after they were used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retention {
    /// See [`claude_code`].
    ClaudeCode,
    /// See [`gemini_cli`].
    GeminiCli,
}

/// Where the agent looks for its files: the variables that it is started with, its workspace, and the time.
pub(crate) struct Place<'a> {
    pub(crate) variable: &'a dyn Fn(&str) -> Option<String>,
    pub(crate) workspace: &'a Path,
    pub(crate) now: SystemTime,
}

impl Retention {
    /// Returns how many sessions it deletes at its next start. 0 as well if its files cannot be read.
    pub(crate) fn due(self, place: &Place<'_>) -> usize {
        match self {
            Self::ClaudeCode => claude_code::due(place),
            Self::GeminiCli => gemini_cli::due(place),
        }
    }
}

/// Says before a start how many sessions the agent deletes; `None` if it deletes none.
pub(crate) fn note(agent: &str, sessions: usize) -> Option<String> {
    let count = if sessions == 1 { "1 session".to_owned() } else { format!("{sessions} sessions") };
    (sessions > 0).then(|| {
        format!("*{agent} deletes {count} as it starts. Its own settings say how long it keeps them.*")
    })
}

impl Place<'_> {
    /// Returns a folder that a variable names, or else one below the home folder.
    fn folder(&self, variable: &str, below_home: &str) -> Option<PathBuf> {
        let set = |name: &str| (self.variable)(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        set(variable).or_else(|| Some(set("HOME")?.join(below_home)))
    }

    /// Returns the time that was so long ago.
    fn before(&self, time: Duration) -> Option<SystemTime> {
        self.now.checked_sub(time)
    }
}

/// Bytes of a settings file.
const SETTINGS_BYTES: u64 = 1 << 20;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Settings files by rising priority. `None` if one of them cannot be parsed; those that do not exist are left out.
fn settings(paths: &[PathBuf], parse: fn(&str) -> Option<Value>) -> Option<Vec<Value>> {
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
