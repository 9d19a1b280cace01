//! Caches parsed transcripts, so that listing never parses twice.

use super::transcript::Transcript;
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Version of the summary format. A persistent index stores it and drops its rows when it changes.
pub const READER_VERSION: u32 = 5;

/// State of a file when it was parsed. A row is valid as long as its stamp matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileStamp {
    /// Bytes.
    pub size: u64,
    /// Nanoseconds since the epoch.
    pub mtime_ns: i64,
}

/// Parsed transcripts, and the states of their files.
pub type CachedTranscripts = HashMap<PathBuf, (FileStamp, Transcript)>;

/// A cache of parsed transcripts keyed by (path, size, mtime).
pub trait TranscriptIndex: Send + Sync + std::fmt::Debug {
    /// Returns all cached transcripts of files below `root`.
    fn load(&self, root: &Path) -> Arc<CachedTranscripts>;

    /// Caches rows; failures are not reported, because they only cost speed.
    fn save(&self, rows: Vec<(FileStamp, Transcript)>);
}

/// An index in memory.
#[derive(Debug, Default)]
pub struct MemoryIndex(Mutex<CachedTranscripts>);

impl TranscriptIndex for MemoryIndex {
    fn load(&self, root: &Path) -> Arc<CachedTranscripts> {
        let rows = self.0.lock();
        let below = rows.iter().filter(|(path, _)| path.starts_with(root));
        Arc::new(below.map(|(path, row)| (path.clone(), row.clone())).collect())
    }

    fn save(&self, new: Vec<(FileStamp, Transcript)>) {
        let mut rows = self.0.lock();
        rows.extend(new.into_iter().map(|(stamp, row)| (row.file_path.clone(), (stamp, row))));
    }
}
