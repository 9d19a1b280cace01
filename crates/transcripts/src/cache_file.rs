//! A disposable database file, shared by several processes: it is recreated when damaged. Deleted data is overwritten,
//! so that it cannot be recovered from the file or its write-ahead log.

use openagents_core::{clock::now_ms, folders::create_private};
use rusqlite::{Connection, ErrorCode, Transaction, TransactionBehavior};
use std::{path::Path, time::Duration};

/// Time that a statement waits for another process.
const BUSY: Duration = Duration::from_secs(5);

/// Holds a row while deleted rows may still be readable in the file: the process may have exited before
/// [`CacheFile::scrub`].
const UNSCRUBBED: &str = "CREATE TABLE unscrubbed (since_ms INTEGER NOT NULL) STRICT;";

/// The name, version and schema of a cache file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CacheFile {
    pub(crate) what: &'static str,
    /// A file of another version counts as damaged.
    pub(crate) version: u32,
    pub(crate) tables: &'static str,
}

impl CacheFile {
    /// Opens the file; recreates it if it is damaged. Blocks.
    pub(crate) fn open(&self, path: &Path) -> rusqlite::Result<Connection> {
        self.connect(path).or_else(|error| self.renew(path, &error))
    }

    /// Replaces the file with an empty one, unless it is only busy. A process that has the old one open keeps using it.
    pub(crate) fn renew(&self, path: &Path, error: &rusqlite::Error) -> rusqlite::Result<Connection> {
        if !matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)) {
            tracing::warn!(%error, path = %path.display(), "recreating {}", self.what);
            for suffix in ["", "-wal", "-shm"] {
                let mut file = path.as_os_str().to_owned();
                file.push(suffix);
                // A missing file needs no removal; any other error occurs again on connecting.
                let _ = std::fs::remove_file(file);
            }
        }
        self.connect(path)
    }

    fn connect(&self, path: &Path) -> rusqlite::Result<Connection> {
        create_private(path);
        let mut connection = Connection::open(path)?;
        connection.busy_timeout(BUSY)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        let version = |connection: &Connection| {
            connection.query_row("PRAGMA user_version", [], |row| row.get::<_, u32>(0))
        };
        // Read without the write lock, which another process may hold for seconds.
        let mut found = version(&connection)?;
        if found == 0 {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            found = version(&transaction)?;
            if found == 0 {
                transaction.execute_batch(self.tables)?;
                transaction.execute_batch(UNSCRUBBED)?;
                transaction.pragma_update(None, "user_version", self.version)?;
                found = self.version;
            }
            transaction.commit()?;
        }
        if found != self.version {
            return Err(rusqlite::Error::InvalidQuery);
        }
        Ok(connection)
    }

    /// Starts deleting rows in a transaction: from here on they are overwritten, until [`CacheFile::scrub`]. Always
    /// overwriting them would cost as much as writing the index twice.
    pub(crate) fn deletes(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
        transaction.pragma_update(None, "secure_delete", true)?;
        transaction.execute("INSERT INTO unscrubbed VALUES (?1)", [now_ms()]).map(drop)
    }

    pub(crate) fn is_unscrubbed(connection: &Connection) -> rusqlite::Result<bool> {
        connection.query_row("SELECT EXISTS (SELECT 1 FROM unscrubbed)", [], |row| row.get(0))
    }

    /// Runs `first`, then rewrites the file, which removes deleted rows and their remains in pages. Then empties its
    /// log like [`CacheFile::empty_log`].
    pub(crate) fn scrub(connection: &Connection, first: &str) -> rusqlite::Result<bool> {
        connection.execute_batch(first)?;
        connection.execute_batch("VACUUM; DELETE FROM unscrubbed")?;
        connection.pragma_update(None, "secure_delete", false)?;
        Self::empty_log(connection)
    }

    /// Moves the write-ahead log into the file, and empties it. Returns false if another connection is reading it.
    pub(crate) fn empty_log(connection: &Connection) -> rusqlite::Result<bool> {
        let is_busy = |row: &rusqlite::Row<'_>| row.get(0);
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], is_busy).map(|busy: bool| !busy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CACHE: CacheFile =
        CacheFile { what: "a cache", version: 7, tables: "CREATE TABLE rows (at INTEGER) STRICT" };

    /// Regression: while a bridge rewrote its index, a command waited five seconds for it, twice, and then had no
    /// index.
    #[test]
    fn cache_file_opens_while_another_process_writes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cache.db");
        let mut writer = CACHE.open(&path).unwrap();
        let writing = writer.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
        writing.execute("INSERT INTO rows VALUES (1)", []).unwrap();
        let reader = CACHE.open(&path).unwrap();
        let count = |reader: &Connection| {
            reader.query_row("SELECT count(*) FROM rows", [], |row| row.get::<_, u32>(0)).unwrap()
        };
        assert_eq!(count(&reader), 0);
        writing.commit().unwrap();
        assert_eq!(count(&reader), 1);
    }

    #[test]
    fn cache_file_overwrites_deleted_rows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cache.db");
        let cache =
            CacheFile { tables: "CREATE TABLE texts (id INTEGER PRIMARY KEY, text TEXT) STRICT", ..CACHE };
        let mut file = cache.open(&path).unwrap();
        let text = |at: usize| format!("canary-{at} {}", "x".repeat(at % 3000));
        for at in 0..500 {
            file.execute("INSERT INTO texts VALUES (?1, ?2)", (at as i64, text(at))).unwrap();
        }
        let read = || {
            let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap_or_default();
            let bytes = [read("cache.db"), read("cache.db-wal")].concat();
            (0..500)
                .filter(|at| memchr::memmem::find(&bytes, format!("canary-{at} ").as_bytes()).is_some())
                .count()
        };
        assert_eq!(read(), 500);
        let deleting = file.transaction().unwrap();
        CacheFile::deletes(&deleting).unwrap();
        deleting.execute("DELETE FROM texts WHERE id % 2 = 0", []).unwrap();
        deleting.commit().unwrap();
        assert!(read() > 250, "in the log");
        drop(file);
        // The next process scrubs it.
        let file = cache.open(&path).unwrap();
        assert!(CacheFile::is_unscrubbed(&file).unwrap());
        assert!(CacheFile::scrub(&file, "").unwrap());
        assert!(!CacheFile::is_unscrubbed(&file).unwrap());
        assert_eq!(read(), 250);
    }

    #[test]
    fn cache_file_replaces_other_version() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cache.db");
        CACHE.open(&path).unwrap().execute("INSERT INTO rows VALUES (1)", []).unwrap();
        let newer = CacheFile { version: 8, ..CACHE };
        let version =
            |file: Connection| file.query_row("PRAGMA user_version", [], |row| row.get::<_, u32>(0)).unwrap();
        assert_eq!(version(newer.open(&path).unwrap()), 8);
        assert_eq!(version(newer.open(&path).unwrap()), 8);
    }
}
