//! A disposable database file, shared by several processes: it is recreated when damaged.

use crate::store::create_private;
use rusqlite::{Connection, ErrorCode, TransactionBehavior};
use std::{path::Path, time::Duration};

/// Time that a statement waits for another process.
const BUSY: Duration = Duration::from_secs(5);

/// A kind of such a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CacheFile {
    /// Named when the file is recreated.
    pub(crate) what: &'static str,
    /// A file of another version counts as damaged.
    pub(crate) version: u32,
    /// Creates the tables.
    pub(crate) tables: &'static str,
}

impl CacheFile {
    /// Opens the file; recreates it if it is damaged. Blocks.
    pub(crate) fn open(&self, path: &Path) -> rusqlite::Result<Connection> {
        self.connect(path).or_else(|error| self.renew(path, &error))
    }

    /// Replaces the file by an empty one, unless it is only busy. A process that still has the old one keeps using it.
    pub(crate) fn renew(&self, path: &Path, error: &rusqlite::Error) -> rusqlite::Result<Connection> {
        if !matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)) {
            tracing::warn!(%error, path = %path.display(), "recreating {}", self.what);
            for suffix in ["", "-wal", "-shm"] {
                let mut file = path.as_os_str().to_owned();
                file.push(suffix);
                // A missing file is removed already; any other error occurs again.
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
        // Without the lock of a writer, which another process may have for seconds.
        let mut found = version(&connection)?;
        if found == 0 {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            found = version(&transaction)?;
            if found == 0 {
                transaction.execute_batch(self.tables)?;
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
}

#[cfg(test)]
mod tests {
    use super::*;

    const CACHE: CacheFile =
        CacheFile { what: "a cache", version: 7, tables: "CREATE TABLE rows (at INTEGER) STRICT" };

    /// Regression: while a bridge wrote its index anew, a command waited five seconds for it, twice, and then had none.
    #[test]
    fn it_opens_while_another_process_writes() {
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
    fn a_file_of_another_version_is_replaced() {
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
