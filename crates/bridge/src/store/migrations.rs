//! The shape of the database, one numbered step after the other.
//!
//! A step that was released is never changed: a new one is added. `PRAGMA user_version` holds the number of the last
//! step that was taken.

use rusqlite::Connection;

/// The steps in order; the first makes version 1.
const STEPS: &[&str] = &[
    // 1: sessions, their updates, and the memory of other agents' transcripts.
    "CREATE TABLE sessions (
        id TEXT PRIMARY KEY NOT NULL,
        cwd TEXT NOT NULL,
        title TEXT,
        mode TEXT NOT NULL,
        created_ts INTEGER NOT NULL,
        last_ts INTEGER NOT NULL,
        last_seq INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    CREATE INDEX sessions_by_change ON sessions (last_ts DESC, id DESC);
    CREATE TABLE events (
        session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
        seq INTEGER NOT NULL,
        ts INTEGER NOT NULL,
        update_json TEXT NOT NULL,
        PRIMARY KEY (session_id, seq)
    ) STRICT;
    CREATE TABLE transcripts (
        path TEXT PRIMARY KEY NOT NULL,
        size INTEGER NOT NULL,
        mtime_ns INTEGER NOT NULL,
        reader INTEGER NOT NULL,
        row_json TEXT NOT NULL
    ) STRICT;",
    // 2: what a person chose.
    "CREATE TABLE settings (
        key TEXT PRIMARY KEY NOT NULL,
        value_json TEXT NOT NULL
    ) STRICT;",
    // 3: sessions of delegates, what agents asked and were told, and who was chosen to answer.
    "ALTER TABLE sessions ADD COLUMN parent_id TEXT;
    ALTER TABLE sessions ADD COLUMN parent_call_id TEXT;
    ALTER TABLE sessions ADD COLUMN policy_json TEXT;
    CREATE TABLE approvals (
        id TEXT PRIMARY KEY NOT NULL,
        session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
        agent_id TEXT NOT NULL,
        hash TEXT NOT NULL,
        state TEXT NOT NULL,
        answered_ts INTEGER,
        applies_once INTEGER NOT NULL DEFAULT 0,
        approval_json TEXT NOT NULL
    ) STRICT;
    CREATE INDEX approvals_by_question ON approvals (session_id, hash);
    CREATE TABLE agent_sessions (
        session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
        agent_id TEXT NOT NULL,
        agent_session_id TEXT NOT NULL,
        PRIMARY KEY (session_id, agent_id)
    ) STRICT;
    CREATE TABLE decisions (
        id INTEGER PRIMARY KEY NOT NULL,
        ts INTEGER NOT NULL,
        session_id TEXT NOT NULL,
        prompt TEXT NOT NULL,
        decision_json TEXT NOT NULL
    ) STRICT;",
    // 4: what a delegate was told to keep to.
    "ALTER TABLE sessions ADD COLUMN limits_json TEXT;",
    // 5: devices that were paired, and what was done from afar.
    "CREATE TABLE devices (
        id TEXT PRIMARY KEY NOT NULL,
        name TEXT NOT NULL,
        scope TEXT NOT NULL,
        token_hash BLOB NOT NULL UNIQUE,
        created_ts INTEGER NOT NULL,
        last_seen_ts INTEGER,
        last_address TEXT
    ) STRICT;
    CREATE TABLE audit (
        id INTEGER PRIMARY KEY NOT NULL,
        ts INTEGER NOT NULL,
        device_id TEXT,
        name TEXT NOT NULL,
        address TEXT NOT NULL,
        action TEXT NOT NULL,
        detail TEXT NOT NULL
    ) STRICT;",
];

/// The version that this program writes.
pub(super) fn current() -> u32 {
    u32::try_from(STEPS.len()).unwrap_or(u32::MAX)
}

/// Reads the version of a database; 0 is an empty one.
pub(super) fn version(connection: &Connection) -> rusqlite::Result<u32> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// Takes the steps that are missing, each in a transaction of its own.
pub(super) fn run(connection: &mut Connection) -> rusqlite::Result<()> {
    run_to(connection, current())
}

pub(super) fn run_to(connection: &mut Connection, target: u32) -> rusqlite::Result<()> {
    for (step, number) in STEPS.iter().zip(1u32..) {
        if number > target {
            break;
        }
        let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        // Read inside the transaction: another process may have been faster.
        if version(&transaction)? < number {
            transaction.execute_batch(step)?;
            transaction.pragma_update(None, "user_version", number)?;
        }
        transaction.commit()?;
    }
    Ok(())
}
