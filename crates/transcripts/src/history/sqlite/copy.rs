//! A private copy of a database that needs recovery (no readable `-shm`, or a hot journal), because recovery would
//! write into the agent's folder.

use super::{
    connection::guard,
    error::DatabaseError,
    files::{CHANGES, Files, beside},
};
use crate::limits;
use openagents_core::budget::Budget;
use parking_lot::Mutex;
use rusqlite::{Connection, OpenFlags, config::DbConfig};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

struct Copy {
    path: PathBuf,
    /// State of the database's files when it was copied.
    files: Files,
    /// Closed before its files are removed.
    connection: Connection,
    _folder: PrivateFolder,
}

/// The last copy: every session of a database requests it.
static LAST: Mutex<Option<Copy>> = Mutex::new(None);

/// Runs `read` on a copy of the database as it is in `files`.
pub(super) fn read<T>(
    path: &Path,
    files: &Files,
    budget: &Budget,
    read: &mut dyn FnMut(&Connection) -> rusqlite::Result<T>,
) -> Result<T, DatabaseError> {
    let mut last = LAST.lock();
    let copy = match last.take() {
        Some(copy) if copy.path == path && copy.files == *files => last.insert(copy),
        _ => last.insert(Copy::new(path, files)?),
    };
    guard(&mut copy.connection, budget)?;
    let snapshot = copy.connection.unchecked_transaction()?;
    Ok(read(&snapshot)?)
}

impl Copy {
    fn new(path: &Path, files: &Files) -> Result<Self, DatabaseError> {
        if files.size() > limits::DATABASE_COPY {
            return Err(DatabaseError::TooLarge(files.size()));
        }
        let folder = PrivateFolder::new()?;
        let to = folder.0.join("copy.db");
        fs::copy(path, &to)?;
        for suffix in CHANGES {
            match fs::copy(beside(path, suffix), beside(&to, suffix)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
                _ => {}
            }
        }
        if Files::of(path)? != *files {
            return Err(DatabaseError::Changing);
        }
        let connection = Connection::open_with_flags(&to, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        // Opens all files.
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
        #[cfg(unix)]
        folder.remove();
        Ok(Self { path: path.to_owned(), files: files.clone(), connection, _folder: folder })
    }
}

/// A folder that only this user can read. On Unix it is removed as soon as its files are open, so that nothing remains
/// even if this program is killed.
struct PrivateFolder(PathBuf);

impl PrivateFolder {
    fn new() -> io::Result<Self> {
        let path = std::env::temp_dir().join(format!("openagents-{}", uuid::Uuid::new_v4()));
        let mut builder = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&path)?;
        Ok(Self(path))
    }

    fn remove(&self) {
        match fs::remove_dir_all(&self.0) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!(%error, path = %self.0.display(), "a copy of a database could not be removed");
            }
            _ => {}
        }
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        self.remove();
    }
}
