//! Caches parsed transcripts, so that listing never parses a log twice.

use super::transcript::Transcript;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::{
    collections::{HashMap, HashSet},
    ffi::OsString,
    path::Path,
    sync::Arc,
};

/// Version of the summary format. A persistent index stores it and drops its rows when it changes.
pub const READER_VERSION: u32 = 7;

/// State of a file when it was parsed. A row is valid as long as its stamp matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FileStamp {
    /// Bytes.
    pub size: u64,
    /// Nanoseconds since the epoch.
    pub mtime_ns: i64,
}

/// Parsed transcripts by the paths of their newest files, with the states of their files. Paths are compared byte by
/// byte, as they were found: comparing thousands of them by component takes longer than checking their files.
pub type CachedTranscripts = HashMap<OsString, (FileStamp, Transcript)>;

/// A cache of parsed transcripts keyed by (path, size, mtime).
pub trait ListingCache: Send + Sync + std::fmt::Debug {
    /// Returns all cached transcripts of files below `root`.
    fn load(&self, root: &Path) -> Arc<CachedTranscripts>;

    /// Caches rows; failures are not reported, because they only cost speed.
    fn save(&self, rows: Vec<(FileStamp, Transcript)>);

    /// Drops the rows for which `is_gone` returns true, so that no trace of them can be read any more.
    fn forget(&self, _is_gone: &dyn Fn(&Transcript) -> bool) {}

    /// Returns the marks of excluded logs: these are not read again until they change.
    fn marks(&self) -> Arc<HashSet<u128>> {
        Arc::default()
    }

    fn mark(&self, _marks: &[u128]) {}

    /// Moves the write-ahead log of a persistent cache into its database file.
    fn checkpoint(&self) {}
}

#[derive(Debug, Default)]
pub struct MemoryListingCache {
    rows: Mutex<CachedTranscripts>,
    marks: Mutex<HashSet<u128>>,
}

impl ListingCache for MemoryListingCache {
    fn load(&self, root: &Path) -> Arc<CachedTranscripts> {
        let rows = self.rows.lock();
        let below = rows.iter().filter(|(_, (_, row))| row.file_path.starts_with(root));
        Arc::new(below.map(|(path, row)| (path.clone(), row.clone())).collect())
    }

    fn save(&self, new: Vec<(FileStamp, Transcript)>) {
        let mut rows = self.rows.lock();
        rows.extend(new.into_iter().map(|(stamp, row)| (row.file_path.clone().into(), (stamp, row))));
    }

    fn forget(&self, is_gone: &dyn Fn(&Transcript) -> bool) {
        self.rows.lock().retain(|_, (_, row)| !is_gone(row));
    }

    fn marks(&self) -> Arc<HashSet<u128>> {
        Arc::new(self.marks.lock().clone())
    }

    fn mark(&self, marks: &[u128]) {
        self.marks.lock().extend(marks);
    }
}
