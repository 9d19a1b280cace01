//! Why the store fails.

use rusqlite::ErrorCode;
use std::path::PathBuf;

/// Why the store cannot do what it was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The data folder cannot be created or written to.
    #[error("cannot write to the data folder {}: {reason}", path.display())]
    NotWritable {
        /// The folder.
        path: PathBuf,
        /// What the operating system says.
        reason: String,
    },
    /// SQLite refuses.
    #[error("the session store failed: {0}")]
    Sqlite(String),
    /// There is no room.
    #[error("the disk is full; make room, then send the prompt again")]
    Full,
    /// Another program holds the database.
    #[error("another program has locked the session database; close it, then send the prompt again")]
    Locked,
    /// The writer has ended.
    #[error("the session store is closed")]
    Closed,
}

impl StoreError {
    /// Returns whether nothing else could be stored either.
    pub(super) fn is_everybodys(&self) -> bool {
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
