//! Reads the database of another agent. Nothing is written next to it, whether the agent is running, has exited or has
//! crashed.
//!
//! Measured: `immutable` reads a database without `-wal` and leaves no trace, but does not see the rows in a `-wal`; a
//! plain read-only connection sees them, but writes to `-shm`, or creates both files. `readonly_shm` writes to neither.
//!
//! One gap remains: if an agent exits and removes its `-wal` between our check of the files and SQLite's own
//! (microseconds), SQLite creates an empty `-wal`, as the agent's next start does. It is left there, because removing
//! it could break an agent that has just started.

use super::listing_cache::FileStamp;
use crate::limits;
use openagents_core::{budget::Budget, file};
use parking_lot::Mutex;
use percent_encoding::{AsciiSet, CONTROLS, percent_encode};
use rusqlite::{CachedStatement, Connection, ErrorCode, OpenFlags, Row, config::DbConfig, types::ValueRef};
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
        let files = Files::stat(path)?;
        let found = if files.are_settled() {
            run(open(path, "mode=ro&immutable=1", budget), &mut read)
        } else {
            match run(open(path, "mode=ro&readonly_shm=1", budget), &mut read) {
                Err(error) if is_unopened(&error) && Files::stat(path)? == files => {
                    return read_copy(path, &files, budget, &mut read);
                }
                Err(error) if is_unopened(&error) => continue,
                found => return Ok(found?),
            }
        };
        // Without a lock, a log may have appeared, or pages may have changed.
        if Files::stat(path)? == files {
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
fn read_copy<T>(
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
        if Files::stat(path)? != *files {
            return Err(DatabaseError::Changing);
        }
        let connection = Connection::open_with_flags(&to, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        // Opens all files.
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
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
fn open(path: &Path, parameters: &str, budget: &Budget) -> rusqlite::Result<Connection> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(format!("{}?{parameters}", uri(path)), flags)?;
    guard(&mut connection, budget)?;
    Ok(connection)
}

/// Bounds what a foreign schema and a long query can do.
fn guard(connection: &mut Connection, budget: &Budget) -> rusqlite::Result<()> {
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
const CHANGES: [&str; 2] = ["-wal", "-journal"];

/// Sizes and times of a database and of its files with changes.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Files {
    database: (u64, SystemTime),
    /// Absent if the file is missing or empty.
    changes: [Option<(u64, SystemTime)>; 2],
}

impl Files {
    /// Fails for an empty database: SQLite would delete its log.
    fn stat(path: &Path) -> io::Result<Self> {
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

    fn are_settled(&self) -> bool {
        self.changes == [None; 2]
    }

    fn size(&self) -> u64 {
        let changes: u64 = self.changes.iter().flatten().map(|(size, _)| size).sum();
        self.database.0.saturating_add(changes)
    }
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
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

    /// Runs `found` like [`read_database`] if the database has changed since the last time.
    pub(crate) fn get_or_read(
        &self,
        path: &Path,
        budget: &Budget,
        found: impl FnMut(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, DatabaseError> {
        let path = path.canonicalize()?;
        let files = Files::stat(&path)?;
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

#[derive(Debug, Clone)]
pub(crate) struct Columns(Vec<String>);

impl Columns {
    /// Returns the columns of a table; `None` if this version has no such table.
    fn of_table(connection: &Connection, table: &str) -> rusqlite::Result<Option<Self>> {
        let mut names = connection.prepare_cached(
            "SELECT c.name FROM sqlite_schema AS t, pragma_table_info(t.name) AS c
             WHERE t.type = 'table' AND t.name = ?1",
        )?;
        let names = names.query_map([table], |row| row.get(0))?.collect::<rusqlite::Result<Vec<String>>>()?;
        Ok((!names.is_empty()).then_some(Self(names)))
    }

    /// Returns the columns of a table, if it has the `required` ones.
    pub(crate) fn with(
        connection: &Connection,
        table: &str,
        required: &[&str],
    ) -> rusqlite::Result<Option<Self>> {
        let columns = Self::of_table(connection, table)?;
        Ok(columns.filter(|columns| required.iter().all(|name| columns.has(name))))
    }

    fn has(&self, name: &str) -> bool {
        self.0.iter().any(|column| column == name)
    }

    /// Returns the columns as a list for a query, `NULL` for those that this version does not have.
    pub(crate) fn list(&self, names: &[&str]) -> String {
        let columns: Vec<&str> = names.iter().map(|name| self.or_null(name)).collect();
        columns.join(", ")
    }

    pub(crate) fn or_null<'a>(&self, name: &'a str) -> &'a str {
        if self.has(name) { name } else { "NULL" }
    }
}

/// Returns a text; `None` for any other type. Invalid UTF-8 is replaced.
pub(crate) fn text(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<String>> {
    Ok(match row.get_ref(at)? {
        ValueRef::Text(bytes) => Some(file::text(bytes).into_owned()),
        _ => None,
    })
}

/// Returns a number, without its fraction; `None` for any other type.
pub(crate) fn number(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<i64>> {
    Ok(match row.get_ref(at)? {
        ValueRef::Integer(number) => Some(number),
        ValueRef::Real(number) => Some(number as i64),
        _ => None,
    })
}

/// Number of rows of a session that are checked: calls that run at the same time end in any order.
const NEWEST: u32 = 4;

/// Checks the newest rows of sessions. All rows together are most of the file, and counting them visits each one: 80 ms
/// for 670,000. Agents append, and change what they have just appended.
pub(crate) struct SessionStamps<'a>(Vec<CachedStatement<'a>>);

impl<'a> SessionStamps<'a> {
    /// Prepares queries for the rows in `tables`, with their times in the column `time` and their contents in `data`. A
    /// table that this version does not have counts as empty.
    pub(crate) fn new(
        connection: &'a Connection,
        tables: &[&str],
        time: &str,
        data: &str,
    ) -> rusqlite::Result<Self> {
        let mut found = Vec::new();
        for table in tables {
            let Some(columns) = Columns::with(connection, table, &["session_id"])? else { continue };
            let (time, data) = (columns.or_null(time), columns.or_null(data));
            // `octet_length` does not read the data.
            found.push(connection.prepare_cached(&format!(
                "SELECT max(rowid), max({time}), sum(octet_length({data})) FROM {table} WHERE rowid IN
                 (SELECT rowid FROM {table} WHERE session_id = ?1 ORDER BY rowid DESC LIMIT {NEWEST})"
            ))?);
        }
        Ok(Self(found))
    }

    /// Returns a stamp that changes when a session does. `changed` is the time of the last change in the session's own
    /// row, in seconds or milliseconds since the epoch.
    pub(crate) fn stamp(&mut self, id: &str, changed: Option<i64>) -> rusqlite::Result<FileStamp> {
        let mut stamp = FileStamp { size: 0, mtime_ns: nanoseconds(changed) };
        for newest in &mut self.0 {
            let (last, changed, size) =
                newest.query_row([id], |row| Ok((number(row, 0)?, number(row, 1)?, number(row, 2)?)))?;
            let sizes = [last, size].into_iter().flatten().map(|size| u64::try_from(size).unwrap_or(0));
            stamp.size = sizes.fold(stamp.size, u64::saturating_add);
            stamp.mtime_ns = stamp.mtime_ns.max(nanoseconds(changed));
        }
        Ok(stamp)
    }
}

/// A number with at most ten digits is in seconds.
fn nanoseconds(time: Option<i64>) -> i64 {
    let time = time.unwrap_or(0);
    let millis = if time < 10_000_000_000 { time.saturating_mul(1000) } else { time };
    millis.saturating_mul(1_000_000)
}

#[cfg(test)]
mod tests;
