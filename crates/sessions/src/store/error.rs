//! Errors of the store.

use rusqlite::ErrorCode;
use std::path::PathBuf;

/// An error of the session store.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The data folder cannot be created or written to.
    #[error("cannot write to the data folder {}: {reason}", path.display())]
    NotWritable {
        /// The folder.
        path: PathBuf,
        /// The operating system's error.
        reason: String,
    },
    /// An SQLite error.
    #[error("the session store failed: {0}")]
    Sqlite(String),
    /// The disk is full.
    #[error("the disk is full; make room, then send the prompt again")]
    Full,
    /// Another program has locked the database.
    #[error("another program has locked the session database; close it, then send the prompt again")]
    Locked,
    /// The writer has ended.
    #[error("the session store is closed")]
    Closed,
}

impl StoreError {
    /// Returns whether the error affects every write, not just one job.
    pub(super) fn affects_all(&self) -> bool {
        matches!(self, Self::Full | Self::Locked | Self::Closed)
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full,
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Locked,
            _ => Self::Sqlite(error.to_string()),
        }
    }
}
