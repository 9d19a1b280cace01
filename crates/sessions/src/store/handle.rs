//! The store's public handle.

use super::{
    approvals::{self, ApprovalChange, Asked},
    error::StoreError,
    open,
    open_work::{self, OpenWork},
    reader::{COLUMNS, Parent, Readers, SessionRow, Stored, read_update},
    writer::{self, Appended, Job, NewSession, Write, Writer},
};
use crate::policy::Policy;
use openagents_core::{
    agent::AccessLimits,
    approval::ApprovalState,
    update::{AgentState, Decision, SessionUpdate},
};
use parking_lot::{Mutex, MutexGuard};
use rusqlite::{Connection, OptionalExtension, Transaction, params};
use serde::Serialize;
use std::{collections::HashSet, path::Path, sync::Arc, time::Duration};
use tokio::sync::oneshot;

/// Maximum checkpoint attempts while pages are being read; a read takes milliseconds.
const CHECKPOINTS: usize = 100;
const CHECKPOINT_PAUSE: Duration = Duration::from_millis(10);

const DECISIONS_KEPT: i64 = 1_000;

/// Characters kept of the prompt of each decision.
const PROMPT_CHARS: usize = 200;

/// A handle to the store; clones share it. The writer ends when the last clone is dropped.
#[derive(Debug, Clone)]
pub struct Store {
    writer: Arc<Writer>,
    readers: Arc<Readers>,
    notices: Arc<[String]>,
    /// Sessions with open work of an earlier process.
    left_open: Arc<Mutex<HashSet<String>>>,
}

/// A routing decision, as sent to clients.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RoutedPrompt {
    /// Milliseconds since the epoch.
    pub ts: i64,
    pub session_id: String,
    pub prompt: String,
    pub decision: Decision,
}

impl Store {
    /// Opens or creates the database in the data folder `home`. The caller ensures that no other process has it open,
    /// so that work left open in it belongs to a dead process.
    ///
    /// `tables` is the SQL that creates the tables of other owners in a new database. A damaged file, or one whose version
    /// is not supported, is moved aside first; see [`Store::notices`].
    pub fn open(home: &Path, tables: &str) -> Result<Self, StoreError> {
        let opened = open::open(home, tables)?;
        let left_open = open_work::left_open(&opened.connection)?;
        Ok(Self {
            left_open: Arc::new(Mutex::new(left_open)),
            readers: Arc::new(Readers::new(opened.path)),
            writer: Arc::new(Writer::start(opened.connection)?),
            notices: opened.notices.into(),
        })
    }

    /// Returns notices about opening the store, one sentence each.
    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    /// Returns whether an earlier database was moved aside, so that this one is empty.
    pub fn is_renewed(&self) -> bool {
        !self.notices.is_empty()
    }

    /// Creates a session. Blocks.
    pub fn create_session(&self, session: NewSession) -> Result<(), StoreError> {
        self.write(move |transaction, now| writer::create(transaction, &session, now))
    }

    /// Appends updates to a session and waits until they are on disk. Blocks.
    pub fn append(&self, session_id: &str, updates: Vec<SessionUpdate>) -> Result<Appended, StoreError> {
        let (done, result) = oneshot::channel();
        self.append_then(session_id.into(), updates, move |appended| {
            // The receiver may be gone.
            let _ = done.send(appended);
        })?;
        result.blocking_recv().map_err(|_| StoreError::Closed)?
    }

    /// Queues updates. `done` is called on the writer's thread, in the order of the update numbers. Blocks while the
    /// queue is full.
    pub fn append_then(
        &self,
        session_id: Arc<str>,
        updates: Vec<SessionUpdate>,
        done: impl FnOnce(Result<Appended, StoreError>) + Send + 'static,
    ) -> Result<(), StoreError> {
        self.writer.send(Job::Append { session_id, updates, done: Box::new(done) })
    }

    /// Queues a change to an approval and its update. See [`Store::append_then`].
    pub(crate) fn decide_then(
        &self,
        session_id: Arc<str>,
        change: ApprovalChange,
        done: impl FnOnce(Result<Appended, StoreError>) + Send + 'static,
    ) -> Result<(), StoreError> {
        self.writer.send(Job::Decide { session_id, change: Box::new(change), done: Box::new(done) })
    }

    /// Deletes sessions, all or none. Blocks.
    pub fn delete_sessions(&self, ids: Vec<String>) -> Result<(), StoreError> {
        self.left_open().retain(|id| !ids.contains(id));
        self.wait_for(|done| Job::Delete { ids, done })?
    }

    /// Reads a table other than the log. Blocks.
    pub fn query<T>(&self, query: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        self.readers.with_reader(query)
    }

    /// Changes a table other than the log. `write` also gets the time, in milliseconds since the epoch. Blocks.
    pub fn write(
        &self,
        write: impl Fn(&Transaction<'_>, i64) -> rusqlite::Result<()> + Send + 'static,
    ) -> Result<(), StoreError> {
        self.write_as(false, Box::new(write))
    }

    /// Like [`Store::write`], but the change survives a power cut once this returns. Blocks.
    pub fn write_durably(
        &self,
        write: impl Fn(&Transaction<'_>, i64) -> rusqlite::Result<()> + Send + 'static,
    ) -> Result<(), StoreError> {
        self.write_as(true, Box::new(write))
    }

    fn write_as(&self, durable: bool, write: Write) -> Result<(), StoreError> {
        self.wait_for(|done| Job::Write { write, durable, done })?
    }

    fn wait_for<T>(&self, job: impl FnOnce(oneshot::Sender<T>) -> Job) -> Result<T, StoreError> {
        let (done, result) = oneshot::channel();
        self.writer.send(job(done))?;
        result.blocking_recv().map_err(|_| StoreError::Closed)
    }

    /// Waits until everything queued before is on disk. Blocks.
    pub fn flush(&self) -> Result<(), StoreError> {
        self.wait_for(|done| Job::Flush { done })
    }

    /// Waits until everything queued before is in the database file itself rather than in the write-ahead log. Fails
    /// with [`StoreError::Locked`] if the database is being read all the time. Blocks.
    pub fn checkpoint(&self) -> Result<(), StoreError> {
        for _ in 0..CHECKPOINTS {
            match self.wait_for(|done| Job::Checkpoint { done })? {
                Err(StoreError::Locked) => std::thread::sleep(CHECKPOINT_PAUSE),
                done => return done,
            }
        }
        Err(StoreError::Locked)
    }

    /// Returns at most `limit` updates after `since`, in order. Blocks.
    pub fn updates_after(
        &self,
        session_id: &str,
        since: u64,
        limit: usize,
    ) -> Result<Vec<Arc<Stored>>, StoreError> {
        self.page_after(session_id, since, limit, usize::MAX)
    }

    /// Like [`Store::updates_after`], stopping once the updates total `bytes` bytes.
    pub fn page_after(
        &self,
        session_id: &str,
        since: u64,
        limit: usize,
        bytes: usize,
    ) -> Result<Vec<Arc<Stored>>, StoreError> {
        let since = i64::try_from(since).unwrap_or(i64::MAX);
        self.query(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT seq, ts, update_json FROM events WHERE session_id = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3",
            )?;
            let (mut page, mut taken) = (Vec::new(), 0);
            for update in statement.query_map(params![session_id, since, limit], read_update)? {
                let update = update?;
                taken += update.bytes;
                page.push(update);
                if taken >= bytes {
                    break;
                }
            }
            Ok(page)
        })
    }

    /// Returns what agents reported in a session, oldest first. Blocks.
    pub(crate) fn agent_states(&self, session_id: &str) -> Result<Vec<AgentState>, StoreError> {
        self.query(|connection| {
            // The kind comes first in what is stored.
            let mut statement = connection.prepare_cached(
                "SELECT seq, ts, update_json FROM events
                 WHERE session_id = ?1 AND update_json LIKE '{\"kind\":\"agent_state\"%' ORDER BY seq",
            )?;
            let mut states = Vec::new();
            for stored in statement.query_map([session_id], read_update)? {
                if let SessionUpdate::AgentState(state) = &stored?.update {
                    states.push(state.clone());
                }
            }
            Ok(states)
        })
    }

    pub(crate) fn left_open(&self) -> MutexGuard<'_, HashSet<String>> {
        self.left_open.lock()
    }

    /// Returns the open work of a session. Blocks until the writer, which tracks it, has written everything queued
    /// before.
    pub(crate) fn open_work(&self, session_id: &str) -> Result<Arc<OpenWork>, StoreError> {
        Ok(self.append(session_id, Vec::new())?.work)
    }

    /// Returns a session. Blocks.
    pub fn session(&self, id: &str) -> Result<Option<SessionRow>, StoreError> {
        self.query(|connection| {
            connection
                .prepare_cached(&format!("SELECT {COLUMNS} FROM sessions WHERE id = ?1"))?
                .query_row([id], SessionRow::from_row)
                .optional()
        })
    }

    /// Returns the sessions after `after` that have at least one update, last changed first; with `children`, those of
    /// delegates too. Blocks.
    pub fn sessions(
        &self,
        limit: usize,
        after: Option<(i64, &str)>,
        cwd: Option<&Path>,
        children: bool,
    ) -> Result<Vec<SessionRow>, StoreError> {
        let (after_ts, after_id) = after.unwrap_or((i64::MAX, ""));
        let cwd = cwd.map(|path| path.to_string_lossy().into_owned());
        self.query(|connection| {
            let mut statement = connection.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM sessions
                 WHERE last_seq > 0 AND (last_ts, id) < (?1, ?2) AND (?3 IS NULL OR cwd = ?3)
                 AND (?5 OR parent_id IS NULL)
                 ORDER BY last_ts DESC, id DESC LIMIT ?4"
            ))?;
            statement
                .query_map(params![after_ts, after_id, cwd, limit, children], SessionRow::from_row)?
                .collect()
        })
    }

    pub(crate) fn approval(&self, id: &str) -> Result<Option<Asked>, StoreError> {
        self.query(|connection| {
            let found = connection
                .prepare_cached("SELECT session_id, agent_id, approval_json FROM approvals WHERE id = ?1")?
                .query_row([id], |row| {
                    let approval = approvals::parse_approval(&row.get::<_, String>(2)?);
                    let (session_id, agent_id) = (row.get(0)?, row.get(1)?);
                    Ok(approval.map(|approval| Asked { session_id, agent_id, approval }))
                })
                .optional()?;
            Ok(found.flatten())
        })
    }

    /// Returns the standing rules, newest first. Blocks.
    pub fn standing_rules(&self) -> Result<Vec<Asked>, StoreError> {
        self.query(approvals::standing_rules)
    }

    /// Revokes a standing rule by the id of its approval, or all of them. Blocks.
    pub fn revoke_rules(&self, id: Option<String>) -> Result<(), StoreError> {
        self.write_durably(move |transaction, _| approvals::revoke(transaction, id.as_deref()))
    }

    /// Marks an approval as withdrawn. The caller appends the update to the log. Blocks.
    pub(crate) fn withdraw(&self, session_id: &str, id: &str) -> Result<(), StoreError> {
        let (session_id, id) = (session_id.to_owned(), id.to_owned());
        self.write_durably(move |transaction, _| {
            approvals::change_state(transaction, &session_id, &id, ApprovalState::Withdrawn).map(drop)
        })
    }

    /// Returns a session and, recursively, those of its delegates. Blocks.
    pub fn family(&self, id: &str) -> Result<Vec<String>, StoreError> {
        self.query(|connection| {
            let mut statement = connection.prepare_cached(
                "WITH RECURSIVE family (id) AS (
                     SELECT id FROM sessions WHERE id = ?1
                     UNION SELECT sessions.id FROM sessions JOIN family ON sessions.parent_id = family.id
                 ) SELECT id FROM family",
            )?;
            statement.query_map([id], |row| row.get(0))?.collect()
        })
    }

    /// Creates the session of a delegate. Blocks.
    pub fn create_child(
        &self,
        session: NewSession,
        parent: Parent,
        policy: Policy,
        limits: &AccessLimits,
    ) -> Result<(), StoreError> {
        let (policy, limits) = (json(&policy)?, json(limits)?);
        // In one transaction: otherwise a crash could leave a session without limits.
        self.write(move |transaction, now| {
            writer::create(transaction, &session, now)?;
            transaction
            .execute(
                "UPDATE sessions SET parent_id = ?2, parent_call_id = ?3, policy_json = ?4, limits_json = ?5
                 WHERE id = ?1",
                params![session.id, parent.session_id, parent.call_id, policy, limits],
            )
            .map(drop)
        })
    }

    /// Sets the permissions of a session. Blocks.
    pub fn set_policy(&self, session_id: &str, policy: Policy) -> Result<(), StoreError> {
        let id = session_id.to_owned();
        let json = json(&policy)?;
        self.write_durably(move |transaction, _| {
            let values = params![id, json];
            transaction.execute("UPDATE sessions SET policy_json = ?2 WHERE id = ?1", values).map(drop)
        })
    }

    /// Stores a decision. Blocks.
    pub fn record_decision(
        &self,
        session_id: &str,
        prompt: &str,
        decision: &Decision,
    ) -> Result<(), StoreError> {
        let (session, prompt) =
            (session_id.to_owned(), prompt.chars().take(PROMPT_CHARS).collect::<String>());
        let json = json(decision)?;
        self.write(move |transaction, now| {
            transaction.execute(
                "INSERT INTO decisions (ts, session_id, prompt, decision_json) VALUES (?1, ?2, ?3, ?4)",
                params![now, session, prompt, json],
            )?;
            let old = "DELETE FROM decisions WHERE id <= (SELECT max(id) FROM decisions) - ?1";
            transaction.execute(old, [DECISIONS_KEPT]).map(drop)
        })
    }

    /// Returns the stored decisions, newest first. Blocks.
    pub fn decisions(&self) -> Result<Vec<RoutedPrompt>, StoreError> {
        self.query(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT ts, session_id, prompt, decision_json FROM decisions ORDER BY id DESC",
            )?;
            let rows = statement.query_map([], |row| {
                let json: String = row.get(3)?;
                let decision = serde_json::from_str(&json).ok();
                let (ts, session_id, prompt) = (row.get(0)?, row.get(1)?, row.get(2)?);
                Ok(decision.map(|decision| RoutedPrompt { ts, session_id, prompt, decision }))
            })?;
            rows.filter_map(Result::transpose).collect()
        })
    }
}

fn json(value: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Sqlite(error.to_string()))
}
