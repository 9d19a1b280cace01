//! The event store: sessions and their numbered updates in SQLite.
//!
//! One thread writes, in groups; readers have connections of their own. An update has a number only once it is on
//! disk, so that what was ever shown to a client can be shown again.

mod approvals;
mod children;
mod decisions;
mod deleting;
mod migrations;
mod open;
mod presence;
mod reader;
mod transcripts;
mod writer;

#[cfg(test)]
mod tests;

pub(crate) use approvals::{ApprovalChange, Asked, Decided};
pub use children::Parent;
pub use migrations::Step;
#[cfg(any(test, feature = "testing"))]
#[doc(hidden)]
pub use migrations::run_to;
pub use open::{DATABASE_FILE, create_folder};
pub use reader::SessionRow;
pub use writer::{Appended, NewSession, now_ms};

use bytes::Bytes;
use openagents_core::{history::TranscriptIndex, update::SessionUpdate};
use presence::Presence;
use reader::Readers;
use rusqlite::{Connection, ErrorCode, Transaction};
use std::{
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};
use tokio::sync::oneshot;
use writer::{Job, Write, Writer};

/// One numbered update of a session.
#[derive(Debug, Clone, PartialEq)]
pub struct Stored {
    /// 1, 2, 3 … without gaps within a session.
    pub seq: u64,
    /// Milliseconds since the epoch; never goes back within a session.
    pub ts: i64,
    /// What happened.
    pub update: SessionUpdate,
    /// Bytes of it in the store.
    pub bytes: usize,
    /// The update as clients are sent it.
    pub encoded: Encoded,
}

/// An update in the form that clients are sent, encoded once for all of them. The caller knows the format.
#[derive(Debug, Clone, Default)]
pub struct Encoded(OnceLock<Bytes>);

impl Encoded {
    /// Returns the text, and encodes the update if this is the first time.
    pub fn get_or_encode(&self, encode: impl FnOnce() -> String) -> Bytes {
        self.0.get_or_init(|| encode().into()).clone()
    }
}

/// Equal updates have the same form, encoded yet or not.
impl PartialEq for Encoded {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// Why the store cannot do what it was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The data folder cannot be created or written to.
    #[error("cannot write to the data folder {}: {reason}", path.display())]
    NotWritable {
        /// The folder.
        path: PathBuf,
        /// What the operating system says.
        reason: String,
    },
    /// SQLite refuses.
    #[error("the session store failed: {0}")]
    Sqlite(String),
    /// There is no room.
    #[error("the disk is full; make room, then send the prompt again")]
    Full,
    /// Another program holds the database.
    #[error("another program has locked the session database; close it, then send the prompt again")]
    Locked,
    /// The writer has ended.
    #[error("the session store is closed")]
    Closed,
}

impl StoreError {
    /// Returns whether nothing else could be stored either.
    fn is_everybodys(&self) -> bool {
        matches!(self, Self::Full | Self::Locked | Self::Closed)
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full,
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Locked,
            _ => Self::Sqlite(error.to_string()),
        }
    }
}

/// A handle to the store; clones share it. The writer ends when the last clone is dropped.
#[derive(Debug, Clone)]
pub struct Store {
    writer: Arc<Writer>,
    readers: Arc<Readers>,
    notices: Arc<[String]>,
    presence: Arc<Presence>,
}

impl Store {
    /// Opens, or creates, the database in the data folder `home`.
    ///
    /// `tables` are the steps of those who keep tables of their own here. A damaged file, or one written by a newer
    /// version, is moved aside first: [`Store::notices`] says so.
    pub fn open(home: &Path, tables: &[Step]) -> Result<Self, StoreError> {
        let opened = open::open(home, tables)?;
        Ok(Self {
            presence: Arc::new(Presence::enter(home)),
            readers: Arc::new(Readers::new(opened.path)),
            writer: Arc::new(Writer::start(opened.connection)?),
            notices: opened.notices.into(),
        })
    }

    /// Returns what a person should know about the opening, one sentence each.
    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    /// Returns whether the process that last changed a session at `last_ts` is gone, so that what it left half-done may
    /// be closed. Says nothing about this process.
    pub fn is_writer_gone(&self, last_ts: i64) -> bool {
        self.presence.is_gone(last_ts)
    }

    /// Remembers parsed transcripts of other agents in this store.
    pub fn transcript_index(&self) -> Arc<dyn TranscriptIndex> {
        Arc::new(transcripts::StoredIndex::new(self.clone()))
    }

    /// Creates a session. Blocks.
    pub fn create_session(&self, session: NewSession) -> Result<(), StoreError> {
        let (done, result) = oneshot::channel();
        self.writer.send(Job::Create { session, done })?;
        result.blocking_recv().map_err(|_| StoreError::Closed)?
    }

    /// Appends updates to a session and waits until they are on disk. Blocks.
    pub fn append(&self, session_id: &str, updates: Vec<SessionUpdate>) -> Result<Appended, StoreError> {
        let (done, result) = oneshot::channel();
        self.append_then(session_id.into(), updates, move |appended| {
            // Nobody waiting any more is no concern of the store.
            let _ = done.send(appended);
        })?;
        result.blocking_recv().map_err(|_| StoreError::Closed)?
    }

    /// Queues updates and returns as soon as there is room; `done` is called on the writer's thread, in the order of
    /// the numbers. Blocks while the queue is full.
    pub fn append_then(
        &self,
        session_id: Arc<str>,
        updates: Vec<SessionUpdate>,
        done: impl FnOnce(Result<Appended, StoreError>) + Send + 'static,
    ) -> Result<(), StoreError> {
        self.writer.send(Job::Append { session_id, updates, done: Box::new(done) })
    }

    /// Queues a change of an approval and the update that tells of it. See [`Store::append_then`].
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
        let (done, result) = oneshot::channel();
        self.writer.send(Job::Delete { ids, done })?;
        result.blocking_recv().map_err(|_| StoreError::Closed)?
    }

    /// Reads a table that is not a log. Blocks.
    pub fn read<T>(&self, read: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        self.readers.with(|reader| read(&reader.0))
    }

    /// Changes a table that is not a log; `write` also gets the time, in milliseconds since the epoch. Blocks.
    pub fn write(
        &self,
        write: impl Fn(&Transaction<'_>, i64) -> rusqlite::Result<()> + Send + 'static,
    ) -> Result<(), StoreError> {
        self.write_as(false, Box::new(write))
    }

    /// Changes as [`Store::write`] does, and is on the disk itself when it returns. Blocks.
    pub fn write_durably(
        &self,
        write: impl Fn(&Transaction<'_>, i64) -> rusqlite::Result<()> + Send + 'static,
    ) -> Result<(), StoreError> {
        self.write_as(true, Box::new(write))
    }

    fn write_as(&self, durable: bool, write: Write) -> Result<(), StoreError> {
        let (done, result) = oneshot::channel();
        self.writer.send(Job::Write { write, durable, done })?;
        result.blocking_recv().map_err(|_| StoreError::Closed)?
    }

    /// Waits until everything that was queued before is on disk. Blocks.
    pub fn flush(&self) -> Result<(), StoreError> {
        let (done, result) = oneshot::channel();
        self.writer.send(Job::Flush { done })?;
        result.blocking_recv().map_err(|_| StoreError::Closed)
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

    /// Reads as [`Store::updates_after`], no more once they have so many bytes.
    pub fn page_after(
        &self,
        session_id: &str,
        since: u64,
        limit: usize,
        bytes: usize,
    ) -> Result<Vec<Arc<Stored>>, StoreError> {
        self.readers.with(|reader| reader.page_after(session_id, since, limit, bytes))
    }

    /// Reads as [`Store::updates_after`], without tool calls and what came of them: they are most of a log's bytes.
    pub fn messages_after(
        &self,
        session_id: &str,
        since: u64,
        limit: usize,
    ) -> Result<Vec<Arc<Stored>>, StoreError> {
        self.readers.with(|reader| reader.messages_after(session_id, since, limit))
    }

    /// Returns the calls up to a number that have no end up to there. Blocks.
    pub fn open_calls(&self, session_id: &str, until: u64) -> Result<Vec<Arc<Stored>>, StoreError> {
        self.readers.with(|reader| reader.open_calls(session_id, until))
    }

    /// Returns a session. Blocks.
    pub fn session(&self, id: &str) -> Result<Option<SessionRow>, StoreError> {
        self.readers.with(|reader| reader.session(id))
    }

    /// Returns sessions that have at least one update, and changed at `since` or later; the last 256 of them. Blocks.
    pub fn changed_since(&self, since: i64) -> Result<Vec<SessionRow>, StoreError> {
        self.readers.with(|reader| reader.changed_since(since, 256))
    }

    /// Returns sessions that have at least one update, last changed first, from `after` on. Blocks.
    pub fn sessions(
        &self,
        limit: usize,
        after: Option<(i64, &str)>,
        cwd: Option<&Path>,
    ) -> Result<Vec<SessionRow>, StoreError> {
        self.readers.with(|reader| reader.sessions(limit, after, cwd, false))
    }
}
