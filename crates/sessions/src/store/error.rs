//! Errors of the store.

use rusqlite::ErrorCode;
use std::path::PathBuf;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    #[error("cannot write to the data folder {}: {reason}", path.display())]
    NotWritable { path: PathBuf, reason: String },
    #[error("the session store failed: {0}")]
    Sqlite(String),
    #[error("the disk is full; make room, then send the prompt again")]
    Full,
    #[error("another program has locked the session database; close it, then send the prompt again")]
    Locked,
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
