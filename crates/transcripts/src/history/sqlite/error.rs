//! Errors of reading a database.

use std::io;

/// An error reading a database. Only the sessions of that database are then missing, or are those of the last time it
/// was read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DatabaseError {
    #[error(transparent)]
    File(#[from] io::Error),
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    #[error("the database changes faster than it is read; try again")]
    Changing,
    #[error("the database has {0} bytes, too many for a copy; close the agent and try again")]
    TooLarge(u64),
}

impl From<DatabaseError> for io::Error {
    fn from(error: DatabaseError) -> Self {
        match error {
            DatabaseError::File(error) => error,
            error => Self::other(error),
        }
    }
}
