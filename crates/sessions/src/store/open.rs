//! Opens the database file, and moves an unusable one aside.

use super::error::StoreError;
use openagents_core::folders::{create_folder, create_private};
use rusqlite::{Connection, ErrorCode};
use std::{
    io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// Name of the database file in the data folder.
pub const DATABASE_FILE: &str = "openagents.sqlite";

/// How long a statement waits for another process's lock.
pub(super) const BUSY: Duration = Duration::from_secs(5);

/// Largest file that is checked when it is opened, in bytes. Damage in a larger file shows up at the first read.
const CHECKED_BYTES: u64 = 32 << 20;

pub(super) struct Opened {
    pub(super) connection: Connection,
    pub(super) path: PathBuf,
    pub(super) notices: Vec<String>,
}

/// Opens the database in `home`. An unusable one is moved aside, never overwritten.
pub(super) fn open(home: &Path, tables: &str) -> Result<Opened, StoreError> {
    create_folder(home).map_err(|error| not_writable(home, &error))?;
    let path = home.join(DATABASE_FILE);
    keep_private(home, &path);
    let mut notices = Vec::new();
    let connection = match try_open(&path, tables) {
        Ok(connection) => connection,
        Err(Refusal::Unusable { why, suffix }) => {
            let aside = move_aside(&path, &suffix).map_err(|error| not_writable(home, &error))?;
            notices.push(format!(
                "The session database {why}; it was moved to {} and a new one was created.",
                aside.display()
            ));
            try_open(&path, tables).map_err(|refusal| refusal.into_error(home))?
        }
        Err(refusal) => return Err(refusal.into_error(home)),
    };
    Ok(Opened { connection, path, notices })
}

/// Restricts the permissions of an existing folder and its files. A disk that does not support permissions is used
/// anyway.
fn keep_private(home: &Path, path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let files = ["", "-wal", "-shm"].map(|suffix| (with_suffix(path, suffix), 0o600));
    for (path, mode) in [(home.to_owned(), 0o700)].into_iter().chain(files) {
        let is_open = |found: &std::fs::Metadata| found.permissions().mode() & 0o077 != 0;
        if std::fs::metadata(&path).is_ok_and(|found| is_open(&found)) {
            let closed = std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode));
            if let Err(error) = closed {
                tracing::warn!(path = %path.display(), %error, "could not restrict the permissions");
            }
        }
    }
}

enum Refusal {
    /// The file is damaged, or of a version that is not supported.
    Unusable { why: String, suffix: String },
    /// Any other error, which moving the file would not fix.
    Other(rusqlite::Error),
}

impl Refusal {
    fn into_error(self, home: &Path) -> StoreError {
        match self {
            Self::Unusable { why, .. } => StoreError::Sqlite(format!("the new database {why}")),
            Self::Other(error) if is_access(&error) => {
                StoreError::NotWritable { path: home.to_owned(), reason: error.to_string() }
            }
            Self::Other(error) => error.into(),
        }
    }
}

impl From<rusqlite::Error> for Refusal {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => damaged(),
            _ => Self::Other(error),
        }
    }
}

fn damaged() -> Refusal {
    Refusal::Unusable { why: "is damaged".to_owned(), suffix: format!("damaged-{}", seconds()) }
}

fn is_access(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied)
    )
}

fn try_open(path: &Path, tables: &str) -> Result<Connection, Refusal> {
    create_private(path);
    let mut connection = Connection::open(path)?;
    connection.busy_timeout(BUSY)?;
    let version: u32 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if ![0, VERSION].contains(&version) && UPGRADES.iter().all(|(from, _)| *from != version) {
        let (a, age) = if version > VERSION { ("a", "newer") } else { ("an", "older") };
        return Err(Refusal::Unusable {
            why: format!("was written by {a} {age} version of OpenAgents (format {version})"),
            suffix: format!("{age}-{version}-{}", seconds()),
        });
    }
    if std::fs::metadata(path).is_ok_and(|metadata| metadata.len() <= CHECKED_BYTES) {
        let verdict: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
        if verdict != "ok" {
            return Err(damaged());
        }
    }
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // Survives a crash of the process; a power cut may lose the last transactions.
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    // Durable writes stay durable when they move from the log into the file. On macOS `fsync` leaves them in the disk's
    // cache.
    connection.pragma_update(None, "checkpoint_fullfsync", true)?;
    // Deleted sessions and titles are overwritten.
    connection.pragma_update(None, "secure_delete", true)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    migrate(&mut connection, version, tables)?;
    Ok(connection)
}

fn move_aside(path: &Path, suffix: &str) -> io::Result<PathBuf> {
    let aside = with_suffix(path, &format!(".{suffix}"));
    std::fs::rename(path, &aside)?;
    for companion in ["-wal", "-shm"] {
        let from = with_suffix(path, companion);
        if from.exists() {
            std::fs::rename(&from, with_suffix(&aside, companion))?;
        }
    }
    Ok(aside)
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs())
}

fn not_writable(home: &Path, error: &io::Error) -> StoreError {
    StoreError::NotWritable { path: home.to_owned(), reason: error.to_string() }
}

/// Version of the schema and of the kinds of updates, in `PRAGMA user_version`. What is older than [`UPGRADES`] is moved
/// aside.
const VERSION: u32 = 15;
/// What makes the next version of an older one.
const UPGRADES: [(u32, &str); 5] = [
    (10, "ALTER TABLE sessions DROP COLUMN tracks_work;"),
    // Version 12 has updates of the kind `agent_state`, which readers of version 11 do not know.
    (11, ""),
    (12, AGENT_OPTIONS),
    // Updates of the kind `agent_note`, and titles that agents may replace: not those of before.
    (
        13,
        "ALTER TABLE sessions ADD COLUMN is_named INTEGER NOT NULL DEFAULT 0; UPDATE sessions SET is_named = 1;",
    ),
    // Prompts with images, prompts given to a running turn, and branches.
    (14, IMAGES_AND_BRANCHES),
];

const IMAGES_AND_BRANCHES: &str = "
    CREATE TABLE images (
        session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
        hash TEXT NOT NULL,
        mime_type TEXT NOT NULL,
        bytes BLOB NOT NULL,
        PRIMARY KEY (session_id, hash)
    ) STRICT;
    ALTER TABLE agent_sessions ADD COLUMN kind INTEGER NOT NULL DEFAULT 0;";

/// Options of agents, and the values chosen for them: in a session, and last in a workspace (or anywhere, if `cwd` is
/// empty).
const AGENT_OPTIONS: &str = "
    CREATE TABLE agent_options (
        agent_id TEXT PRIMARY KEY NOT NULL,
        options_json TEXT NOT NULL
    ) STRICT;
    CREATE TABLE agent_choices (
        agent_id TEXT NOT NULL,
        cwd TEXT NOT NULL,
        choices_json TEXT NOT NULL,
        PRIMARY KEY (agent_id, cwd)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE session_choices (
        session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
        agent_id TEXT NOT NULL,
        choices_json TEXT NOT NULL,
        PRIMARY KEY (session_id, agent_id)
    ) STRICT;";

const TABLES: &str = "
    CREATE TABLE sessions (
        id TEXT PRIMARY KEY NOT NULL,
        cwd TEXT NOT NULL,
        title TEXT,
        mode TEXT NOT NULL,
        created_ts INTEGER NOT NULL,
        last_ts INTEGER NOT NULL,
        last_seq INTEGER NOT NULL DEFAULT 0,
        parent_id TEXT,
        parent_call_id TEXT,
        policy_json TEXT,
        limits_json TEXT,
        pinned INTEGER NOT NULL DEFAULT 0,
        archived INTEGER NOT NULL DEFAULT 0,
        is_named INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    CREATE INDEX sessions_by_change ON sessions (last_ts DESC, id DESC);
    CREATE TABLE events (
        session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
        seq INTEGER NOT NULL,
        ts INTEGER NOT NULL,
        update_json TEXT NOT NULL,
        PRIMARY KEY (session_id, seq)
    ) STRICT;
    CREATE TABLE open_work (
        session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
        seq INTEGER NOT NULL,
        part TEXT NOT NULL,
        PRIMARY KEY (session_id, seq, part)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE approvals (
        id TEXT PRIMARY KEY NOT NULL,
        session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
        agent_id TEXT NOT NULL,
        hash TEXT NOT NULL,
        state TEXT NOT NULL,
        answered_ts INTEGER,
        applies_once INTEGER NOT NULL DEFAULT 0,
        approval_json TEXT NOT NULL,
        standing INTEGER NOT NULL DEFAULT 0
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
    ) STRICT;
    CREATE TABLE trusted_workspaces (
        path TEXT PRIMARY KEY NOT NULL,
        trusted_by TEXT NOT NULL,
        trusted_ts INTEGER NOT NULL,
        accepted_json TEXT NOT NULL
    ) STRICT;
    CREATE TABLE transcript_labels (
        provider TEXT NOT NULL,
        id TEXT NOT NULL,
        title TEXT,
        pinned INTEGER NOT NULL,
        archived INTEGER NOT NULL,
        PRIMARY KEY (provider, id)
    ) STRICT, WITHOUT ROWID;";

/// Creates the tables of an empty database, or upgrades those of an older version.
fn migrate(connection: &mut Connection, version: u32, tables: &str) -> rusqlite::Result<()> {
    if version == VERSION {
        return Ok(());
    }
    let transaction = connection.transaction()?;
    if version == 0 {
        transaction.execute_batch(TABLES)?;
        transaction.execute_batch(AGENT_OPTIONS)?;
        transaction.execute_batch(IMAGES_AND_BRANCHES)?;
        transaction.execute_batch(tables)?;
    }
    for (_, upgrade) in UPGRADES.iter().filter(|(from, _)| version != 0 && *from >= version) {
        transaction.execute_batch(upgrade)?;
    }
    transaction.pragma_update(None, "user_version", VERSION)?;
    transaction.commit()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn open_restricts_permissions_of_existing_database() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        let open_up = |path: &Path, mode| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        let files = ["", "-wal", "-shm"].map(|suffix| with_suffix(&home.join(DATABASE_FILE), suffix));
        // Held open, so that the companions stay.
        let _first = open(&home, "").unwrap();
        open_up(&home, 0o755);
        files.iter().for_each(|file| open_up(file, 0o644));
        let _second = open(&home, "").unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&home), 0o700);
        assert_eq!(files.map(|file| mode(&file)), [0o600; 3]);
    }
}
