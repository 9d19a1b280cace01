//! The event store: sessions and their numbered updates in SQLite.
//!
//! One thread writes, in groups; readers have connections of their own. An update has a number only once it is on
//! disk, so that what was ever shown to a client can be shown again.

mod approvals;
mod audit;
mod children;
mod decisions;
mod deleting;
mod devices;
mod migrations;
mod open;
mod presence;
mod reader;
mod settings;
mod transcripts;
mod writer;

#[cfg(test)]
mod tests;

pub(crate) use approvals::{ApprovalChange, Asked, Decided};

pub(crate) use audit::{AuditRow, Deed};
pub(crate) use children::Parent;

pub(crate) use devices::DeviceRow;
pub use open::DATABASE_FILE;
pub(crate) use open::create_folder;
pub use reader::SessionRow;
pub(crate) use writer::now_ms;
pub use writer::{Appended, NewSession};

use openagents_core::{history::TranscriptIndex, update::SessionUpdate};
use presence::Presence;
use reader::Readers;
use rusqlite::{ErrorCode, Transaction};
use std::{
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};
use tokio::sync::oneshot;
use tokio_tungstenite::tungstenite::Utf8Bytes;
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
    pub(crate) bytes: usize,
    /// The same as it goes over the wire.
    pub(crate) frame: SharedFrame,
}

/// The text of a frame, made once for all who are sent it. Goes with the update, which is in memory for a while.
#[derive(Debug, Clone, Default)]
pub(crate) struct SharedFrame(OnceLock<Utf8Bytes>);

impl SharedFrame {
    pub(crate) fn get_or_make(&self, make: impl FnOnce() -> String) -> Utf8Bytes {
        self.0.get_or_init(|| make().into()).clone()
    }
}

/// It says nothing that the update does not say.
impl PartialEq for SharedFrame {
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
    /// A damaged file, or one written by a newer version, is moved aside first: [`Store::notices`] says so.
    pub fn open(home: &Path) -> Result<Self, StoreError> {
        let opened = open::open(home)?;
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
    pub(crate) fn is_writer_gone(&self, last_ts: i64) -> bool {
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
    pub(crate) fn append_then(
        &self,
        session_id: Arc<str>,
        updates: Vec<SessionUpdate>,
        done: impl FnOnce(Result<Appended, StoreError>) + Send + 'static,
    ) -> Result<(), StoreError> {
        self.writer.send(Job::Append { session_id, updates, done: Box::new(done) })
    }

    /// Changes something that is in no log. Blocks.
    fn write(
        &self,
        write: impl Fn(&Transaction<'_>, i64) -> rusqlite::Result<()> + Send + 'static,
    ) -> Result<(), StoreError> {
        self.write_as(false, Box::new(write))
    }

    /// Changes something that a power cut must not undo. Blocks.
    fn write_durably(
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
    pub(crate) fn page_after(
        &self,
        session_id: &str,
        since: u64,
        limit: usize,
        bytes: usize,
    ) -> Result<Vec<Arc<Stored>>, StoreError> {
        self.readers.with(|reader| reader.page_after(session_id, since, limit, bytes))
    }

    /// Reads as [`Store::updates_after`], without tool calls and what came of them: they are most of a log's bytes.
    pub(crate) fn messages_after(
        &self,
        session_id: &str,
        since: u64,
        limit: usize,
    ) -> Result<Vec<Arc<Stored>>, StoreError> {
        self.readers.with(|reader| reader.messages_after(session_id, since, limit))
    }

    /// Returns the calls up to a number that have no end up to there. Blocks.
    pub(crate) fn open_calls(&self, session_id: &str, until: u64) -> Result<Vec<Arc<Stored>>, StoreError> {
        self.readers.with(|reader| reader.open_calls(session_id, until))
    }

    /// Returns a session. Blocks.
    pub fn session(&self, id: &str) -> Result<Option<SessionRow>, StoreError> {
        self.readers.with(|reader| reader.session(id))
    }

    /// Returns sessions that have at least one update, and changed at `since` or later; the last 256 of them. Blocks.
    pub(crate) fn changed_since(&self, since: i64) -> Result<Vec<SessionRow>, StoreError> {
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
