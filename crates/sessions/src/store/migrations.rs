//! The database schema, as numbered migration steps.
//!
//! A released step never changes; add a new one instead. `PRAGMA user_version` holds the number of the last applied
//! step.

use rusqlite::Connection;

/// One migration step.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    /// The resulting version. Unique across all owners of tables.
    pub version: u32,
    /// The SQL statements.
    pub sql: &'static str,
}

/// The steps of this crate's tables. The missing numbers belong to other owners.
const STEPS: &[Step] = &[
    // Sessions, their updates, and the index of other agents' transcripts.
    Step {
        version: 1,
        sql: "CREATE TABLE sessions (
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
    },
    // Sessions of delegates, approvals, and routing decisions.
    Step {
        version: 3,
        sql: "ALTER TABLE sessions ADD COLUMN parent_id TEXT;
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
    },
    // The limits of a delegate.
    Step { version: 4, sql: "ALTER TABLE sessions ADD COLUMN limits_json TEXT;" },
    // Open work. For sessions from before this step, it is found when they are first opened.
    Step {
        version: 6,
        sql: "ALTER TABLE sessions ADD COLUMN tracks_work INTEGER NOT NULL DEFAULT 0;
    CREATE TABLE open_work (
        session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
        seq INTEGER NOT NULL,
        part TEXT NOT NULL,
        PRIMARY KEY (session_id, seq, part)
    ) STRICT, WITHOUT ROWID;",
    },
    // The transcript index moved to its own file.
    Step { version: 7, sql: "DROP TABLE transcripts;" },
    // Answers that are standing rules for the same command.
    Step { version: 8, sql: "ALTER TABLE approvals ADD COLUMN standing INTEGER NOT NULL DEFAULT 0;" },
    // Trusted workspaces.
    Step {
        version: 9,
        sql: "CREATE TABLE trusted_workspaces (
        path TEXT PRIMARY KEY NOT NULL,
        trusted_by TEXT NOT NULL,
        trusted_ts INTEGER NOT NULL,
        accepted_json TEXT NOT NULL
    ) STRICT;",
    },
    // The user's labels for sessions and transcripts.
    Step {
        version: 10,
        sql: "ALTER TABLE sessions ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE sessions ADD COLUMN archived INTEGER NOT NULL DEFAULT 0;
    CREATE TABLE transcript_labels (
        provider TEXT NOT NULL,
        id TEXT NOT NULL,
        title TEXT,
        pinned INTEGER NOT NULL,
        archived INTEGER NOT NULL,
        PRIMARY KEY (provider, id)
    ) STRICT, WITHOUT ROWID;",
    },
];

/// Returns all steps in order: those of this crate and `others`.
pub(super) fn steps(others: &[Step]) -> Vec<Step> {
    let mut steps: Vec<Step> = STEPS.iter().chain(others).copied().collect();
    steps.sort_by_key(|step| step.version);
    steps
}

/// Returns the version after `steps`.
pub(super) fn last(steps: &[Step]) -> u32 {
    steps.last().map_or(0, |step| step.version)
}

/// Reads the version of a database; 0 if it is empty.
pub(super) fn version(connection: &Connection) -> rusqlite::Result<u32> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// Applies the missing steps, each in its own transaction.
pub(super) fn run(connection: &mut Connection, steps: &[Step]) -> rusqlite::Result<()> {
    let applied = version(connection)?;
    for step in steps.iter().filter(|step| step.version > applied) {
        let transaction = connection.transaction()?;
        transaction.execute_batch(step.sql)?;
        transaction.pragma_update(None, "user_version", step.version)?;
        transaction.commit()?;
    }
    Ok(())
}

/// Applies the steps up to a version, like an older program.
#[cfg(any(test, feature = "testing"))]
#[doc(hidden)]
pub fn run_to(connection: &mut Connection, version: u32, others: &[Step]) -> rusqlite::Result<()> {
    let mut steps = steps(others);
    steps.retain(|step| step.version <= version);
    run(connection, &steps)
}
