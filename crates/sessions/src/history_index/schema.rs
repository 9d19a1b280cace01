//! The tables of the index.

use crate::store::create_private;
use openagents_core::history::READER_VERSION;
use rusqlite::{Connection, ErrorCode, TransactionBehavior};
use std::{path::Path, time::Duration};

/// Version of the tables; together with that of the readers it is the file's.
const VERSION: u32 = 1;

/// How long a statement waits for another process.
const BUSY: Duration = Duration::from_secs(5);

/// `passages.key` begins with the time of its session, so that the newest matches are found first.
const TABLES: &str = "
    CREATE TABLE sessions (
        key INTEGER PRIMARY KEY,
        provider TEXT NOT NULL,
        id TEXT NOT NULL,
        row_json TEXT NOT NULL,
        size INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        upto INTEGER NOT NULL,
        bytes INTEGER NOT NULL,
        cut INTEGER NOT NULL,
        UNIQUE (provider, id)
    ) STRICT;
    CREATE TABLE passages (
        key INTEGER PRIMARY KEY,
        session INTEGER NOT NULL,
        line INTEGER NOT NULL,
        kind INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX passages_of_session ON passages (session);
    CREATE VIRTUAL TABLE words USING fts5(
        text, content = '', contentless_delete = 1, detail = none,
        tokenize = \"unicode61 remove_diacritics 2 tokenchars '_'\"
    );";

/// Opens the file; one of another version counts as damaged.
pub(super) fn connect(path: &Path) -> rusqlite::Result<Connection> {
    create_private(path);
    let mut connection = Connection::open(path)?;
    connection.busy_timeout(BUSY)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "OFF")?;
    let version = READER_VERSION * 100 + VERSION;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    match transaction.query_row("PRAGMA user_version", [], |row| row.get::<_, u32>(0))? {
        0 => {
            transaction.execute_batch(TABLES)?;
            transaction.pragma_update(None, "user_version", version)?;
        }
        found if found == version => {}
        _ => return Err(rusqlite::Error::InvalidQuery),
    }
    transaction.commit()?;
    Ok(connection)
}

/// Replaces the file by an empty one, unless it is only busy.
pub(super) fn renew(path: &Path, error: &rusqlite::Error) -> rusqlite::Result<Connection> {
    if !matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)) {
        tracing::warn!(%error, path = %path.display(), "the index of other agents' sessions is made anew");
        for suffix in ["", "-wal", "-shm"] {
            let mut file = path.as_os_str().to_owned();
            file.push(suffix);
            // A missing file is removed already; any other error occurs again.
            let _ = std::fs::remove_file(file);
        }
    }
    connect(path)
}
