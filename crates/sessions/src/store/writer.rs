//! The writer thread. Queued jobs are written together: a burst takes one transaction, and a single update does not
//! wait.

use super::{
    approvals::{self, ApprovalChange, Decided},
    error::StoreError,
    open::BUSY,
    open_work::{self, OpenWork},
    reader::Stored,
};
use openagents_core::{clock::now_ms, update::SessionUpdate};
use parking_lot::Mutex;
use rusqlite::{Connection, OptionalExtension, ToSql, Transaction, params};
use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{
        Arc,
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread::JoinHandle,
    time::Duration,
};
use tokio::sync::oneshot;

/// Maximum number of queued jobs; producers block when it is reached.
const QUEUE: usize = 1024;

/// Maximum number of rows in one transaction.
const GROUP: usize = 256;

/// Number of sessions whose log end is cached.
const REMEMBERED: usize = 1024;

type Done = Box<dyn FnOnce(Result<Appended, StoreError>) + Send>;

/// A change to a table other than the log. The second argument is the time in milliseconds since the epoch.
pub(super) type Write = Box<dyn Fn(&Transaction<'_>, i64) -> rusqlite::Result<()> + Send>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSession {
    /// Chosen by the caller; an existing session is left unchanged.
    pub id: String,
    pub cwd: PathBuf,
    pub mode: String,
}

/// The result of [`super::Store::append`].
#[derive(Debug, Clone, Default)]
pub struct Appended {
    /// The updates with their numbers.
    pub rows: Vec<Arc<Stored>>,
    /// The open work after them.
    pub(crate) work: Arc<OpenWork>,
    pub(crate) decided: Decided,
}

pub(super) enum Job {
    Append {
        session_id: Arc<str>,
        updates: Vec<SessionUpdate>,
        done: Done,
    },
    /// Stores the change and its update in one transaction.
    Decide {
        session_id: Arc<str>,
        change: Box<ApprovalChange>,
        done: Done,
    },
    Write {
        write: Write,
        /// Whether to wait until the write is on disk.
        durable: bool,
        done: oneshot::Sender<Result<(), StoreError>>,
    },
    Delete {
        ids: Vec<String>,
        done: oneshot::Sender<Result<(), StoreError>>,
    },
    Flush {
        done: oneshot::Sender<()>,
    },
    /// Moves everything from the write-ahead log into the database file.
    Checkpoint {
        done: oneshot::Sender<Result<(), StoreError>>,
    },
}

impl Job {
    fn rows(&self) -> usize {
        match self {
            Self::Decide { .. } | Self::Write { .. } | Self::Delete { .. } => 1,
            Self::Append { updates, .. } => updates.len(),
            Self::Flush { .. } | Self::Checkpoint { .. } => 0,
        }
    }

    /// Approvals must not be lost, and revocations and deletions must not be undone.
    fn survives_a_power_cut(&self) -> bool {
        matches!(self, Self::Decide { .. } | Self::Delete { .. } | Self::Write { durable: true, .. })
    }
}

/// The sending end. Dropping it ends the thread once the queue is empty.
#[derive(Debug)]
pub(super) struct Writer {
    jobs: Option<SyncSender<Job>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Writer {
    pub(super) fn start(connection: Connection) -> Result<Self, StoreError> {
        let (jobs, queue) = sync_channel(QUEUE);
        let thread = std::thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(move || Loop { connection, ends: HashMap::new(), is_durable: false }.run(&queue))
            .map_err(|error| StoreError::Sqlite(error.to_string()))?;
        Ok(Self { jobs: Some(jobs), thread: Mutex::new(Some(thread)) })
    }

    pub(super) fn send(&self, job: Job) -> Result<(), StoreError> {
        let jobs = self.jobs.as_ref().ok_or(StoreError::Closed)?;
        jobs.send(job).map_err(|_| StoreError::Closed)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.jobs = None;
        let thread = self.thread.lock().take();
        if let Some(thread) = thread
            // A callback on the writer thread itself may drop the last handle.
            && thread.thread().id() != std::thread::current().id()
            && thread.join().is_err()
        {
            tracing::error!("the session store's writer panicked");
        }
    }
}

#[derive(Clone, Default)]
struct LogEnd {
    seq: u64,
    ts: i64,
    work: Arc<OpenWork>,
}

struct Loop {
    connection: Connection,
    ends: HashMap<Arc<str>, LogEnd>,
    /// Whether commits wait for the disk.
    is_durable: bool,
}

impl Loop {
    fn run(mut self, queue: &Receiver<Job>) {
        while let Ok(first) = queue.recv() {
            let mut count = first.rows();
            let mut group = vec![first];
            while count < GROUP
                && let Ok(next) = queue.try_recv()
            {
                count += next.rows();
                group.push(next);
            }
            self.write(group);
        }
    }

    fn write(&mut self, group: Vec<Job>) {
        match self.commit(&group) {
            Ok(stored) => {
                for (job, appended) in group.into_iter().zip(stored) {
                    match job {
                        // The caller may be gone.
                        Job::Checkpoint { done } => drop(done.send(self.checkpoint())),
                        job => finish(job, Ok(appended)),
                    }
                }
            }
            Err(error) => {
                // The numbers assigned inside the transaction were rolled back.
                self.ends.clear();
                let error = StoreError::from(error);
                if group.len() > 1 && !error.affects_all() {
                    // One job cannot be stored; store the others.
                    return group.into_iter().for_each(|job| self.write(vec![job]));
                }
                tracing::error!(%error, "could not store a group of updates");
                group.into_iter().for_each(|job| finish(job, Err(error.clone())));
            }
        }
    }

    fn commit(&mut self, group: &[Job]) -> rusqlite::Result<Vec<Appended>> {
        if self.ends.len() > REMEMBERED {
            self.ends.clear();
        }
        let is_durable = group.iter().any(Job::survives_a_power_cut);
        if is_durable != self.is_durable {
            self.connection.pragma_update(None, "synchronous", if is_durable { "FULL" } else { "NORMAL" })?;
            // Otherwise macOS leaves the last writes in the disk's cache.
            self.connection.pragma_update(None, "fullfsync", is_durable)?;
            self.is_durable = is_durable;
        }
        let transaction =
            self.connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        let now = now_ms();
        let mut stored = Vec::with_capacity(group.len());
        for job in group {
            stored.push(match job {
                Job::Append { session_id, updates, .. } => {
                    append(&transaction, &mut self.ends, session_id, updates, now)?
                }
                Job::Decide { session_id, change, .. } => {
                    let decided = approvals::apply(&transaction, session_id, change, now)?;
                    let update = decided.update().into_iter().collect::<Vec<_>>();
                    let appended = append(&transaction, &mut self.ends, session_id, &update, now)?;
                    Appended { decided, ..appended }
                }
                Job::Write { write, .. } => write(&transaction, now).map(|()| Appended::default())?,
                Job::Delete { ids, .. } => {
                    // A new session may get the same id.
                    self.ends.retain(|id, _| !ids.iter().any(|deleted| **deleted == **id));
                    delete(&transaction, ids).map(|()| Appended::default())?
                }
                Job::Flush { .. } | Job::Checkpoint { .. } => Appended::default(),
            });
        }
        transaction.commit()?;
        Ok(stored)
    }

    /// Fails with [`StoreError::Locked`] while another connection is reading, so that updates do not wait for it.
    fn checkpoint(&self) -> Result<(), StoreError> {
        let busy = |row: &rusqlite::Row<'_>| row.get::<_, bool>(0);
        self.connection.busy_timeout(Duration::ZERO)?;
        let checkpoint = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], busy);
        self.connection.busy_timeout(BUSY)?;
        if checkpoint? { Err(StoreError::Locked) } else { Ok(()) }
    }
}

fn finish(job: Job, result: Result<Appended, StoreError>) {
    // The caller may be gone.
    match job {
        Job::Write { done, .. } | Job::Delete { done, .. } | Job::Checkpoint { done } => {
            drop(done.send(result.map(|_| ())));
        }
        Job::Append { done, .. } | Job::Decide { done, .. } => done(result),
        Job::Flush { done } => drop(done.send(())),
    }
}

pub(super) fn create(transaction: &Transaction<'_>, session: &NewSession, now: i64) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "INSERT INTO sessions (id, cwd, mode, created_ts, last_ts) VALUES (?1, ?2, ?3, ?4, ?4)
             ON CONFLICT (id) DO NOTHING",
        )?
        .execute(params![session.id, session.cwd.to_string_lossy(), session.mode, now])?;
    Ok(())
}

fn delete(transaction: &Transaction<'_>, ids: &[String]) -> rusqlite::Result<()> {
    for id in ids {
        // Decisions have no foreign key to the session.
        transaction.prepare_cached("DELETE FROM decisions WHERE session_id = ?1")?.execute([id])?;
        transaction.prepare_cached("DELETE FROM sessions WHERE id = ?1")?.execute([id])?;
    }
    Ok(())
}

fn append(
    transaction: &Transaction<'_>,
    ends: &mut HashMap<Arc<str>, LogEnd>,
    session_id: &Arc<str>,
    updates: &[SessionUpdate],
    now: i64,
) -> rusqlite::Result<Appended> {
    let mut end = match ends.get(session_id) {
        Some(end) => end.clone(),
        None => read_end(transaction, session_id)?,
    };
    let mut rows = Vec::with_capacity(updates.len());
    for update in updates {
        (end.seq, end.ts) = (end.seq + 1, end.ts.max(now));
        let json = serde_json::to_string(update)
            .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
        transaction
            .prepare_cached("INSERT INTO events (session_id, seq, ts, update_json) VALUES (?1, ?2, ?3, ?4)")?
            .execute(params![session_id, end.seq, end.ts, json])?;
        match update {
            SessionUpdate::Title(title) => {
                set_column(transaction, "title", session_id, &title.title)?;
                if title.by_user {
                    set_column(transaction, "is_named", session_id, true)?;
                }
            }
            SessionUpdate::Mode(mode) => set_column(transaction, "mode", session_id, &mode.mode_id)?,
            _ => {}
        }
        let (seq, ts, update, bytes) = (end.seq, end.ts, update.clone(), json.len());
        let stored = Arc::new(Stored { seq, ts, update, bytes, encoded: Default::default() });
        open_work::store_changes(transaction, session_id, &Arc::make_mut(&mut end.work).apply(&stored))?;
        rows.push(stored);
    }
    if !rows.is_empty() {
        transaction
            .prepare_cached("UPDATE sessions SET last_seq = ?2, last_ts = ?3 WHERE id = ?1")?
            .execute(params![session_id, end.seq, end.ts])?;
    }
    let work = end.work.clone();
    ends.insert(session_id.clone(), end);
    Ok(Appended { rows, work, decided: Decided::default() })
}

fn set_column(
    transaction: &Transaction<'_>,
    column: &str,
    id: &str,
    value: impl ToSql,
) -> rusqlite::Result<()> {
    let sql = format!("UPDATE sessions SET {column} = ?2 WHERE id = ?1");
    transaction.prepare_cached(&sql)?.execute(params![id, value]).map(drop)
}

fn read_end(transaction: &Transaction<'_>, session_id: &str) -> rusqlite::Result<LogEnd> {
    let end: Option<(u64, i64)> = transaction
        .prepare_cached("SELECT last_seq, last_ts FROM sessions WHERE id = ?1")?
        .query_row([session_id], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((seq, ts)) = end else { return Ok(LogEnd::default()) };
    Ok(LogEnd { seq, ts, work: Arc::new(open_work::load_open_work(transaction, session_id)?) })
}
