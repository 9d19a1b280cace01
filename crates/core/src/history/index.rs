//! Caches parsed transcripts, so that listing never parses twice.

use super::transcript::Transcript;
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

/// Version of the summary format. A persistent index stores it and drops its rows when it changes.
pub const READER_VERSION: u32 = 4;

/// State of a file when it was parsed. A row is valid as long as its stamp matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileStamp {
    /// Bytes.
    pub size: u64,
    /// Nanoseconds since the epoch.
    pub mtime_ns: i64,
}

/// A cache of parsed transcripts keyed by (path, size, mtime).
pub trait TranscriptIndex: Send + Sync + std::fmt::Debug {
    /// Returns all cached transcripts of files below `root`.
    fn load(&self, root: &Path) -> HashMap<PathBuf, (FileStamp, Transcript)>;

    /// Caches rows; failures are not reported, because they only cost speed.
    fn save(&self, rows: Vec<(FileStamp, Transcript)>);
}

/// An index in memory.
#[derive(Debug, Default)]
pub struct MemoryIndex(Mutex<HashMap<PathBuf, (FileStamp, Transcript)>>);

impl TranscriptIndex for MemoryIndex {
    fn load(&self, root: &Path) -> HashMap<PathBuf, (FileStamp, Transcript)> {
        let rows = self.0.lock();
        rows.iter().filter(|(path, _)| path.starts_with(root)).map(|(p, r)| (p.clone(), r.clone())).collect()
    }

    fn save(&self, new: Vec<(FileStamp, Transcript)>) {
        let mut rows = self.0.lock();
        rows.extend(new.into_iter().map(|(stamp, row)| (row.file_path.clone(), (stamp, row))));
    }
}
