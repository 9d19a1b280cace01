//! Damage to the database behind the bridge's back, which proves that the checker detects it.

use super::bridge::BusyBridge;
use anyhow::Result;
use rusqlite::{Connection, params};
use std::time::Duration;

/// A separate connection to a bridge's database.
#[derive(Debug)]
pub struct Spoiler(Connection);

impl Spoiler {
    /// Connects next to the bridge.
    pub fn new(bridge: &BusyBridge) -> Result<Self> {
        let connection = Connection::open(bridge.database())?;
        connection.busy_timeout(Duration::from_secs(10))?;
        connection.execute_batch(
            "CREATE TEMP TABLE kept (session_id TEXT, seq INTEGER, ts INTEGER, update_json TEXT);",
        )?;
        Ok(Self(connection))
    }

    /// Makes the database drop the next end of a tool call while reporting success to the writer.
    pub fn lose_one_write(&self) -> Result<()> {
        Ok(self.0.execute_batch(
            r#"CREATE TABLE dropped (seq INTEGER);
            CREATE TRIGGER drop_one BEFORE INSERT ON events
            WHEN NEW.update_json LIKE '%"status":"completed"%' AND NOT EXISTS (SELECT 1 FROM dropped)
            BEGIN
                INSERT INTO dropped VALUES (NEW.seq);
                SELECT RAISE(IGNORE);
            END;"#,
        )?)
    }

    pub fn delete(&self, session: &str, seq: u64) -> Result<()> {
        self.keep(session, seq)?;
        self.0.execute("DELETE FROM events WHERE session_id = ?1 AND seq = ?2", params![session, seq])?;
        Ok(())
    }

    /// Swaps a row with the next one.
    pub fn swap(&self, session: &str, seq: u64) -> Result<()> {
        self.keep(session, seq)?;
        self.keep(session, seq + 1)?;
        for (from, to) in [(seq, seq + 1), (seq + 1, seq)] {
            self.0.execute(
                "UPDATE events SET update_json = (SELECT update_json FROM kept WHERE seq = ?2)
                 WHERE session_id = ?1 AND seq = ?3",
                params![session, from, to],
            )?;
        }
        Ok(())
    }

    /// Duplicates a row; the seq of every row after it increases by one.
    pub fn double(&self, session: &str, seq: u64) -> Result<()> {
        for sql in [
            // Moves rows out of the way first, since a seq must be unique.
            "UPDATE events SET seq = -seq WHERE session_id = ?1 AND seq > ?2",
            "UPDATE events SET seq = 1 - seq WHERE session_id = ?1 AND seq < 0 AND ?2 > 0",
            "INSERT INTO events SELECT session_id, seq + 1, ts, update_json FROM events
             WHERE session_id = ?1 AND seq = ?2",
            "UPDATE sessions SET last_seq = last_seq + 1 WHERE id = ?1 AND ?2 > 0",
        ] {
            self.0.execute(sql, params![session, seq])?;
        }
        Ok(())
    }

    /// Undoes [`Spoiler::delete`] or [`Spoiler::swap`].
    pub fn put_back(&self) -> Result<()> {
        Ok(self.0.execute_batch("INSERT OR REPLACE INTO events SELECT * FROM kept; DELETE FROM kept;")?)
    }

    fn keep(&self, session: &str, seq: u64) -> Result<()> {
        self.0.execute(
            "INSERT INTO kept SELECT session_id, seq, ts, update_json FROM events
             WHERE session_id = ?1 AND seq = ?2",
            params![session, seq],
        )?;
        Ok(())
    }
}
