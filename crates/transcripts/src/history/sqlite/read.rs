//! Opens a database without leaving a trace.
//!
//! Measured: `immutable` reads a database without `-wal` and leaves no trace, but does not see the rows in a `-wal`; a
//! plain read-only connection sees them, but writes to `-shm`, or creates both files. `readonly_shm` writes to neither.
//!
//! One gap remains: if an agent exits and removes its `-wal` between our check of the files and SQLite's own
//! (microseconds), SQLite creates an empty `-wal`, as the agent's next start does. It is left there, because removing
//! it could break an agent that has just started.

use crate::limits;
use openagents_core::budget::Budget;
use parking_lot::Mutex;
use percent_encoding::{AsciiSet, CONTROLS, percent_encode};
use rusqlite::{Connection, ErrorCode, OpenFlags, config::DbConfig};
use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    time::SystemTime,
};

/// Runs `read` in one transaction, and runs it again if the database changed in the meantime, so `read` must start from
/// scratch each time. Queries are interrupted when the budget is spent.
pub(crate) fn read_database<T>(
    path: &Path,
    budget: &Budget,
    mut read: impl FnMut(&Connection) -> rusqlite::Result<T>,
) -> Result<T, DatabaseError> {
    // SQLite looks for the log next to the target of a link.
    let path = &path.canonicalize()?;
    for _ in 0..limits::DATABASE_READS {
        let files = Files::of(path)?;
        let found = if files.are_settled() {
            run(open(path, "mode=ro&immutable=1", budget), &mut read)
        } else {
            match run(open(path, "mode=ro&readonly_shm=1", budget), &mut read) {
                Err(error) if is_unopened(&error) && Files::of(path)? == files => {
                    return read_copy(path, &files, budget, &mut read);
                }
                Err(error) if is_unopened(&error) => continue,
                found => return Ok(found?),
            }
        };
        // Without a lock, a log may have appeared, or pages may have changed.
        if Files::of(path)? == files {
            return Ok(found?);
        }
    }
    Err(DatabaseError::Changing)
}

fn run<T>(
    connection: rusqlite::Result<Connection>,
    read: &mut dyn FnMut(&Connection) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    let connection = connection?;
    let snapshot = connection.unchecked_transaction()?;
    read(&snapshot)
}

/// Returns whether another way of opening may work.
fn is_unopened(error: &rusqlite::Error) -> bool {
    let codes = [
        ErrorCode::CannotOpen,
        ErrorCode::ReadOnly,
        ErrorCode::PermissionDenied,
        ErrorCode::SystemIoFailure,
        ErrorCode::FileLockingProtocolFailed,
    ];
    error.sqlite_error_code().is_some_and(|code| codes.contains(&code))
}

/// A private copy of a database that needs recovery (no readable `-shm`, or a hot journal), because recovery would
/// write into the agent's folder.
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
pub(super) fn read_copy<T>(
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

/// Opens a database by its URI.
pub(super) fn open(path: &Path, parameters: &str, budget: &Budget) -> rusqlite::Result<Connection> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(format!("{}?{parameters}", uri(path)), flags)?;
    guard(&mut connection, budget)?;
    Ok(connection)
}

/// Bounds what a foreign schema and a long query can do.
pub(super) fn guard(connection: &mut Connection, budget: &Budget) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    connection.busy_timeout(limits::DATABASE_BUSY)?;
    let budget = budget.clone();
    connection.progress_handler(limits::DATABASE_STEPS, Some(move || budget.spent()))
}

/// Returns the URI of an absolute path, in which `?` and `#` would end the path.
fn uri(path: &Path) -> String {
    const ESCAPED: &AsciiSet = &CONTROLS.add(b'%').add(b'?').add(b'#');
    format!("file://{}", percent_encode(path.as_os_str().as_encoded_bytes(), ESCAPED))
}

/// Suffixes of the files with changes that are not in the database itself: the write-ahead log, and the journal of an
/// unfinished change.
pub(super) const CHANGES: [&str; 2] = ["-wal", "-journal"];

/// Sizes and times of a database and of its files with changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Files {
    database: (u64, SystemTime),
    /// Absent if the file is missing or empty.
    changes: [Option<(u64, SystemTime)>; 2],
}

impl Files {
    /// Fails for an empty database: SQLite would delete its log.
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        let Some(database) = stamp(path)? else {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the database is empty"));
        };
        let mut changes = [None; 2];
        for (change, suffix) in changes.iter_mut().zip(CHANGES) {
            *change = match stamp(&beside(path, suffix)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                stamp => stamp?,
            };
        }
        Ok(Self { database, changes })
    }

    pub(super) fn are_settled(&self) -> bool {
        self.changes == [None; 2]
    }

    pub(super) fn size(&self) -> u64 {
        let changes: u64 = self.changes.iter().flatten().map(|(size, _)| size).sum();
        self.database.0.saturating_add(changes)
    }
}

pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

/// Returns size and time of a file, if it is not empty. Fails if it is not a regular file, which could block.
fn stamp(path: &Path) -> io::Result<Option<(u64, SystemTime)>> {
    let metadata = fs::metadata(path)?;
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    Ok((metadata.len() > 0).then_some((metadata.len(), metadata.modified()?)))
}

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

/// The results of reading the last few databases, until their files change: listing a large one is slow.
pub(crate) struct Remembered<T>(Mutex<Vec<(PathBuf, Files, T)>>);

impl<T: Clone> Remembered<T> {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// Runs `found` like [`read`] if the database has changed since the last time.
    pub(crate) fn read(
        &self,
        path: &Path,
        budget: &Budget,
        found: impl FnMut(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, DatabaseError> {
        let path = path.canonicalize()?;
        let files = Files::of(&path)?;
        let known = |kept: &&(PathBuf, Files, T)| kept.0 == path && kept.1 == files;
        if let Some((_, _, found)) = self.0.lock().iter().find(known) {
            return Ok(found.clone());
        }
        let found = match read_database(&path, budget, found) {
            Ok(found) => found,
            // Its agent is writing right now, and has not lost its sessions.
            Err(error) => {
                let kept = self.0.lock();
                return kept.iter().find(|kept| kept.0 == path).map(|kept| kept.2.clone()).ok_or(error);
            }
        };
        let mut kept = self.0.lock();
        kept.retain(|(known, ..)| *known != path);
        if kept.len() == limits::DATABASES {
            kept.remove(0);
        }
        kept.push((path, files, found.clone()));
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use openagents_core::CancellationToken;
    use std::time::Duration;

    #[test]
    fn a_database_is_read_again_when_it_changes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let agent = Connection::open(&path).unwrap();
        agent.execute_batch("PRAGMA journal_mode=WAL; CREATE TABLE t(x);").unwrap();
        let budget = Budget::within(Duration::from_secs(60), &CancellationToken::new());
        let (remembered, reads) = (Remembered::new(), std::cell::Cell::new(0));
        let count = || {
            let found = remembered.read(&path, &budget, |connection| {
                reads.set(reads.get() + 1);
                connection.query_row("SELECT count(*) FROM t", [], |row| row.get::<_, i64>(0))
            });
            (found.unwrap(), reads.get())
        };
        assert_eq!((count(), count()), ((0, 1), (0, 1)));
        agent.execute("INSERT INTO t VALUES(1)", []).unwrap();
        assert_eq!((count(), count()), ((1, 2), (1, 2)));
        drop(agent);
        assert_eq!(count(), (1, 3));
        let agent = Connection::open(&path).unwrap();
        agent.execute("INSERT INTO t VALUES(2)", []).unwrap();
        let failing = remembered.read(&path, &budget, |_| Err(rusqlite::Error::InvalidQuery));
        assert_eq!(failing.unwrap(), 1, "what was known before");
        assert_eq!(count(), (2, 4));
        drop(agent);
        std::fs::remove_file(&path).unwrap();
        assert!(remembered.read(&path, &budget, |_| Ok(0)).is_err());
    }
}
