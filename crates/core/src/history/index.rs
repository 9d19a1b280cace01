//! Remembers what was parsed, so that listing never re-parses.

use super::Transcript;
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

/// A file as it was when it was parsed. A row is good for as long as its stamp is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileStamp {
    /// Bytes.
    pub size: u64,
    /// Nanoseconds since the epoch.
    pub mtime_ns: i64,
}

/// A memory of parsed transcripts keyed by (path, size, mtime).
pub trait TranscriptIndex: Send + Sync + std::fmt::Debug {
    /// Returns everything that is remembered of files beneath `root`, in one go.
    fn load(&self, root: &Path) -> HashMap<PathBuf, (FileStamp, Transcript)>;

    /// Remembers rows; a failure costs speed, nothing else.
    fn save(&self, rows: Vec<(FileStamp, Transcript)>);
}

/// An index that lives as long as the process.
#[derive(Debug, Default)]
pub struct MemoryIndex(Mutex<HashMap<PathBuf, (FileStamp, Transcript)>>);

impl TranscriptIndex for MemoryIndex {
    fn load(&self, root: &Path) -> HashMap<PathBuf, (FileStamp, Transcript)> {
        let rows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        rows.iter().filter(|(path, _)| path.starts_with(root)).map(|(p, r)| (p.clone(), r.clone())).collect()
    }

    fn save(&self, new: Vec<(FileStamp, Transcript)>) {
        let mut rows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        rows.extend(new.into_iter().map(|(stamp, row)| (row.file_path.clone(), (stamp, row))));
    }
}
