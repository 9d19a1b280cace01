//! Kept copies of logs, as the history needs them.

use super::{
    log::log_file::LogFile,
    transcript::{Gone, Provider, Transcript},
};
use std::{
    fmt, io,
    path::{Path, PathBuf},
    sync::Arc,
};
use tempfile::TempDir;

/// A log and the row of its session, as they were when they were last captured.
#[derive(Debug, Clone)]
pub(crate) struct KeptLog {
    /// The agent's folder.
    pub(crate) root: PathBuf,
    pub(crate) file: LogFile,
    pub(crate) row: Transcript,
    /// Its log no longer exists.
    pub(crate) gone: Option<Gone>,
}

/// The files of a kept log, at the same paths as in the agent's folder; they are removed with this value.
#[derive(Debug)]
pub(crate) struct Unpacked(pub(crate) TempDir);

impl Unpacked {
    /// Returns the path that corresponds to the agent's folder, which may be a database.
    pub(crate) fn root(&self) -> PathBuf {
        self.0.path().join("root")
    }
}

/// Copies of logs.
pub(crate) trait KeptLogs: Send + Sync + fmt::Debug {
    /// Returns the kept logs of an agent.
    fn of_agent(&self, provider: Provider) -> Vec<Arc<KeptLog>>;

    /// Returns since when a log is a shorter or different one than before, in milliseconds since the epoch; `None` if it has
    /// only grown.
    fn replaced_at(&self, provider: Provider, id: &str) -> Option<i64>;

    /// Unpacks a log; `None` if there is no copy. Blocks.
    fn unpack(&self, provider: Provider, id: &str) -> io::Result<Option<Arc<Unpacked>>>;
}

/// The logs of an agent, or of all.
#[derive(Debug, Default)]
pub(crate) struct ListedLogs {
    pub(crate) read: Vec<ListedLog>,
    /// Those that were not read in time: only what their paths say about them is known.
    pub(crate) unread: Vec<ListedLog>,
    /// There may be more.
    pub(crate) is_cut: bool,
}

/// A log with the row of its session.
#[derive(Debug)]
pub(crate) struct ListedLog {
    pub(crate) root: PathBuf,
    pub(crate) file: LogFile,
    pub(crate) row: Transcript,
}

/// Returns a path relative to an agent's folder; `None` if it is not below it, or not UTF-8.
pub(crate) fn below_root(path: &Path, root: &Path) -> Option<String> {
    Some(path.strip_prefix(root).ok()?.to_str()?.to_owned())
}

/// Returns the path below `to` that corresponds to `path` below `from`.
pub(crate) fn below(to: &Path, path: &Path, from: &Path) -> PathBuf {
    match path.strip_prefix(from) {
        Ok(inside) if !inside.as_os_str().is_empty() => to.join(inside),
        _ => to.to_owned(),
    }
}
