//! The database file.

use crate::{
    cache_file::CacheFile,
    history::{Provider, UsageLimit},
};
use openagents_core::{
    folders::{create_folder, create_private},
    usage::{ModelPrice, PriceTable},
};
use parking_lot::Mutex;
use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior, params};
use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};

const FILE: &str = "usage.db";

/// Time that a statement waits for another process, which may be writing the requests of many logs.
const BUSY: Duration = Duration::from_secs(20);

/// The version of the readers: logs that another version read are read again.
pub(super) const READER: i64 = 1;

/// A quarter of an hour in milliseconds, the length of a sum: the days of every time zone begin with one.
pub(super) const QUARTER: i64 = 15 * 60 * 1000;

/// The version of the tables.
const VERSION: u32 = 1;

const TABLES: &str = "
    CREATE TABLE names (id INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT NOT NULL UNIQUE) STRICT;
    CREATE TABLE logs (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        agent TEXT NOT NULL,
        path TEXT NOT NULL UNIQUE,
        session INTEGER NOT NULL,
        parent INTEGER,
        workspace INTEGER,
        born INTEGER NOT NULL,
        size INTEGER NOT NULL,
        mtime_ns INTEGER NOT NULL,
        reader INTEGER NOT NULL,
        read_bytes INTEGER,
        read_tail INTEGER,
        read_state TEXT
    ) STRICT;
    CREATE TABLE copies (
        key INTEGER NOT NULL,
        log INTEGER NOT NULL,
        attempt INTEGER NOT NULL,
        at INTEGER NOT NULL,
        model INTEGER,
        model_provider INTEGER,
        workspace INTEGER,
        flags INTEGER NOT NULL,
        input INTEGER NOT NULL,
        cache_read INTEGER NOT NULL,
        cache_write INTEGER NOT NULL,
        cache_write_1h INTEGER NOT NULL,
        output INTEGER NOT NULL,
        reasoning INTEGER NOT NULL,
        searches INTEGER NOT NULL,
        reported INTEGER,
        PRIMARY KEY (key, log, attempt)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX copies_of_log ON copies (log);
    CREATE TABLE slots (
        quarter INTEGER NOT NULL,
        agent TEXT NOT NULL,
        session INTEGER NOT NULL,
        model INTEGER NOT NULL,
        model_provider INTEGER NOT NULL,
        workspace INTEGER NOT NULL,
        requests INTEGER NOT NULL,
        input INTEGER NOT NULL,
        cache_read INTEGER NOT NULL,
        cache_write INTEGER NOT NULL,
        cache_write_1h INTEGER NOT NULL,
        output INTEGER NOT NULL,
        reasoning INTEGER NOT NULL,
        at_least INTEGER NOT NULL,
        whole_sessions INTEGER NOT NULL,
        unpriced INTEGER NOT NULL,
        cost INTEGER NOT NULL,
        reported INTEGER NOT NULL,
        PRIMARY KEY (quarter, agent, session, model, model_provider, workspace)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE limits (
        agent TEXT NOT NULL,
        name TEXT NOT NULL,
        seen_at INTEGER NOT NULL,
        value TEXT NOT NULL,
        PRIMARY KEY (agent, name)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE own_prices (provider TEXT NOT NULL, model TEXT NOT NULL, since TEXT NOT NULL, price TEXT NOT NULL,
        PRIMARY KEY (provider, model, since)) STRICT, WITHOUT ROWID;
    CREATE TABLE facts (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;";

/// Why the counts cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum UsageError {
    #[error("the file of token counts failed: {0}")]
    File(#[from] rusqlite::Error),
    #[error("the logs could not be read, because no thread could start: {0}")]
    Thread(io::Error),
    #[error("the token counts were written by a newer version of OpenAgents; update this one")]
    Newer,
    #[error("{provider}/{model} has no custom price; openagents usage price list shows all")]
    NoOwnPrice { provider: String, model: String },
}

/// The token counts of all logs that were read.
#[derive(Debug)]
pub struct UsageStore {
    pub(super) connection: Mutex<Connection>,
}

impl UsageStore {
    /// Opens or creates the file in the data folder `home`. Blocks.
    pub fn open(home: &Path) -> Result<Self, UsageError> {
        // If this fails, opening the file fails too and reports it.
        let _ = create_folder(home);
        let path = Self::path(home);
        create_private(&path);
        let connection = Connection::open(path)?;
        connection.busy_timeout(BUSY)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        // 64 MiB: the rows of a request are found by a hash, anywhere in the file.
        connection.pragma_update(None, "cache_size", -65_536)?;
        Self::new(connection)
    }

    /// Returns a store in memory, for a process that may not write.
    pub fn in_memory() -> Result<Self, UsageError> {
        Self::new(Connection::open_in_memory()?)
    }

    pub fn path(home: &Path) -> PathBuf {
        home.join(FILE)
    }

    fn new(mut connection: Connection) -> Result<Self, UsageError> {
        connection.pragma_update(None, "secure_delete", true)?;
        let version = |connection: &Connection| {
            connection.query_row("PRAGMA user_version", [], |row| row.get::<_, u32>(0))
        };
        if version(&connection)? == 0 {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            if version(&transaction)? == 0 {
                transaction.execute_batch(TABLES)?;
                transaction.pragma_update(None, "user_version", VERSION)?;
            }
            transaction.commit()?;
        }
        match version(&connection)? {
            VERSION => Ok(Self { connection: Mutex::new(connection) }),
            _ => Err(UsageError::Newer),
        }
    }

    /// Moves the write-ahead log into the file, so that a copy of the file is complete. Blocks.
    pub(super) fn checkpoint(&self) {
        if let Err(error) = CacheFile::empty_log(&self.connection.lock()) {
            tracing::warn!(%error, "the last token counts are in the log beside the file");
        }
    }

    /// Returns the prices that apply: those of the program, with the user's own in their place. Blocks.
    pub fn prices(&self) -> Result<PriceTable, UsageError> {
        Ok(PriceTable { own: self.own_prices()?, ..PriceTable::built_in().clone() })
    }

    /// Returns the prices that the user set. Blocks.
    pub fn own_prices(&self) -> Result<Vec<ModelPrice>, UsageError> {
        let connection = self.connection.lock();
        let mut rows = connection.prepare("SELECT price FROM own_prices ORDER BY provider, model, since")?;
        let rows =
            rows.query_map([], |row| row.get::<_, String>(0))?.collect::<rusqlite::Result<Vec<_>>>()?;
        Ok(rows.iter().filter_map(|row| serde_json::from_str(row).ok()).collect())
    }

    /// Sets a price of the user. Blocks.
    pub fn set_price(&self, price: &ModelPrice) -> Result<(), UsageError> {
        let json = serde_json::to_string(price).unwrap_or_default();
        let since = price.from.as_deref().unwrap_or_default();
        let connection = self.connection.lock();
        connection.execute(
            "INSERT OR REPLACE INTO own_prices VALUES (?1, ?2, ?3, ?4)",
            params![price.provider, price.model, since, json],
        )?;
        Ok(next_generation(&connection)?)
    }

    /// Removes the user's prices of a model. Blocks.
    pub fn remove_price(&self, provider: &str, model: &str) -> Result<(), UsageError> {
        let connection = self.connection.lock();
        let removed = connection
            .execute("DELETE FROM own_prices WHERE provider = ?1 AND model = ?2", params![provider, model])?;
        if removed == 0 {
            let (provider, model) = (provider.to_owned(), model.to_owned());
            return Err(UsageError::NoOwnPrice { provider, model });
        }
        Ok(next_generation(&connection)?)
    }

    /// Returns the limits that agents reported, the newest report of each. Blocks.
    pub fn limits(&self) -> Result<Vec<(Provider, UsageLimit)>, UsageError> {
        let connection = self.connection.lock();
        let mut rows = connection.prepare("SELECT agent, value FROM limits ORDER BY agent, name")?;
        let rows = rows.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?;
        let mut limits = Vec::new();
        for row in rows {
            let (agent, value) = row?;
            limits.extend(Provider::parse(&agent).zip(serde_json::from_str(&value).ok()));
        }
        Ok(limits)
    }

    /// Stores what an agent reported about a limit, unless something newer is known. Blocks.
    pub fn set_limit(&self, agent: Provider, limit: &UsageLimit) -> Result<(), UsageError> {
        Ok(write_limits(&self.connection.lock(), agent, std::slice::from_ref(limit))?)
    }
}

/// Returns a number that is kept beside the counts.
pub(super) fn fact(connection: &Connection, name: &str) -> rusqlite::Result<Option<i64>> {
    connection.query_row("SELECT value FROM facts WHERE name = ?1", [name], |row| row.get(0)).optional()
}

pub(super) fn set_fact(connection: &Connection, name: &str, value: i64) -> rusqlite::Result<()> {
    connection.execute("INSERT OR REPLACE INTO facts VALUES (?1, ?2)", params![name, value]).map(drop)
}

pub(super) fn write_limits(
    connection: &Connection,
    agent: Provider,
    limits: &[UsageLimit],
) -> rusqlite::Result<()> {
    let mut write = connection.prepare_cached(
        "INSERT INTO limits VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO UPDATE
         SET seen_at = excluded.seen_at, value = excluded.value WHERE excluded.seen_at >= seen_at",
    )?;
    for limit in limits {
        let value = serde_json::to_string(limit).unwrap_or_default();
        write.execute(params![agent.as_str(), limit.name, limit.seen_at, value])?;
    }
    Ok(())
}

/// The fact that counts changes after which ids and prices that were read before are no longer valid.
const GENERATION: &str = "generation";

pub(super) fn generation(connection: &Connection) -> rusqlite::Result<i64> {
    Ok(fact(connection, GENERATION)?.unwrap_or(0))
}

pub(super) fn next_generation(connection: &Connection) -> rusqlite::Result<()> {
    set_fact(connection, GENERATION, generation(connection)? + 1)
}
