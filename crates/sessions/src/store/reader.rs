//! Reads pages of the log on separate connections, so that readers never wait for the writer.

use super::{error::StoreError, open::BUSY};
use crate::policy::Policy;
use bytes::Bytes;
use openagents_core::{agent::AccessLimits, update::SessionUpdate};
use parking_lot::Mutex;
use rusqlite::{Connection, OpenFlags, Row};
use std::{
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

/// Maximum number of idle connections.
const IDLE: usize = 4;

/// The parent of a delegate's session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parent {
    pub session_id: String,
    /// Its `delegate.run` call.
    pub call_id: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRow {
    pub id: String,
    pub cwd: PathBuf,
    pub title: Option<String>,
    pub mode: String,
    /// Creation time, in milliseconds since the epoch.
    pub created_ts: i64,
    /// Time of the last change, in milliseconds since the epoch.
    pub last_ts: i64,
    /// Number of the last update; 0 if there is none.
    pub last_seq: u64,
    pub parent: Option<Parent>,
    pub policy: Policy,
    pub limits: AccessLimits,
    pub marks: Marks,
    /// The user has set the title.
    pub is_named: bool,
}

pub(super) const COLUMNS: &str = "id, cwd, title, mode, created_ts, last_ts, last_seq, parent_id, parent_call_id, policy_json, limits_json, pinned, archived, is_named";

impl SessionRow {
    pub(super) fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        let parent: (Option<String>, Option<String>) = (row.get(7)?, row.get(8)?);
        let policy: Option<String> = row.get(9)?;
        let limits: Option<String> = row.get(10)?;
        let nothing = || AccessLimits { include: Vec::new(), max_files: Some(0) };
        Ok(Self {
            id: row.get(0)?,
            cwd: PathBuf::from(row.get::<_, String>(1)?),
            title: row.get(2)?,
            mode: row.get(3)?,
            created_ts: row.get(4)?,
            last_ts: row.get(5)?,
            last_seq: row.get(6)?,
            parent: parent.0.zip(parent.1).map(|(session_id, call_id)| Parent { session_id, call_id }),
            // An unreadable policy or limit permits nothing.
            policy: policy.map_or_else(Policy::default, |json| {
                serde_json::from_str(&json).unwrap_or(Policy::UNREADABLE)
            }),
            limits: limits.map_or_else(AccessLimits::default, |json| {
                serde_json::from_str(&json).unwrap_or_else(|_| nothing())
            }),
            marks: Marks { pinned: row.get(11)?, archived: row.get(12)? },
            is_named: row.get(13)?,
        })
    }
}

/// One numbered update of a session.
#[derive(Debug, Clone, PartialEq)]
pub struct Stored {
    /// 1, 2, 3 … without gaps within a session.
    pub seq: u64,
    /// Milliseconds since the epoch; never decreases within a session.
    pub ts: i64,
    pub update: SessionUpdate,
    /// Size in the store, in bytes.
    pub bytes: usize,
    /// The update as sent to clients.
    pub encoded: Encoded,
}

/// An update as sent to clients, encoded once for all of them. The caller determines the format.
#[derive(Debug, Clone, Default)]
pub struct Encoded(OnceLock<Bytes>);

impl Encoded {
    /// Returns the encoded update; encodes it on the first call.
    pub fn get_or_encode(&self, encode: impl FnOnce() -> String) -> Bytes {
        self.0.get_or_init(|| encode().into()).clone()
    }
}

/// Always equal: the encoding is derived from the update.
impl PartialEq for Encoded {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// The marks of a session in the list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Marks {
    /// Listed above the others.
    pub pinned: bool,
    /// Shown only on request.
    pub archived: bool,
}

/// The user's label for another agent's transcript, which is not ours to change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TranscriptLabel {
    pub title: Option<String>,
    pub marks: Marks,
}

#[derive(Debug)]
pub(super) struct Readers {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
}

impl Readers {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, idle: Mutex::default() }
    }

    /// Runs `read` with a connection. A connection that failed is not reused.
    pub(super) fn with_reader<T>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let idle = self.idle.lock().pop();
        let reader = match idle {
            Some(reader) => reader,
            None => open(&self.path)?,
        };
        let value = read(&reader)?;
        let mut idle = self.idle.lock();
        if idle.len() < IDLE {
            idle.push(reader);
        }
        Ok(value)
    }
}

pub(super) fn read_update(row: &Row<'_>) -> rusqlite::Result<Arc<Stored>> {
    let json = row.get_ref(2)?.as_str()?;
    let update = serde_json::from_str(json).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(2, rusqlite::types::Type::Text, Box::new(error))
    })?;
    Ok(Arc::new(Stored {
        seq: row.get(0)?,
        ts: row.get(1)?,
        update,
        bytes: json.len(),
        encoded: Default::default(),
    }))
}

fn open(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY)?;
    Ok(connection)
}
