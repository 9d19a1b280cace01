//! What waits for the readers of a remote connection: a few frames a stream, within one budget.

use super::Closing;
use std::{
    collections::{HashMap, VecDeque},
    task::Waker,
    time::Duration,
};
use tokio::{sync::oneshot, time::Instant};
use tokio_tungstenite::tungstenite::Utf8Bytes;
use tokio_util::sync::CancellationToken;

/// Frames that wait for all readers of a connection, and their bytes.
pub(super) const BUDGET: usize = 64;
pub(super) const BUDGET_BYTES: usize = 4 << 20;
/// How long a session's frames wait for its own stream, before they go on the connection's.
pub(super) const OWN_STREAM: Duration = Duration::from_secs(5);
/// Sessions that are kept apart; those of others go on the connection's stream.
pub(super) const SESSIONS: usize = 256;
/// Which stream a frame belongs to: a session's, or the connection's.
pub(super) type Target = Option<Box<str>>;

/// What waits on the streams of one connection, and who waits for it.
#[derive(Debug)]
pub(super) struct State {
    pub(super) connection: Mailbox,
    pub(super) sessions: HashMap<Box<str>, Mailbox>,
    /// Frames that wait in all of them, and their bytes.
    pub(super) waiting: usize,
    pub(super) bytes: usize,
    /// The sessions of requests that have no answer yet, by the request's id as it was written.
    pub(super) routes: HashMap<Box<str>, Box<str>>,
    /// Everything goes on the connection's stream.
    pub(super) one: bool,
    /// Whoever waits for the answer to `initialize`, and its id.
    pub(super) initialize: Option<(Box<str>, oneshot::Sender<Utf8Bytes>)>,
    /// The writer, while it waits for room.
    pub(super) writer: Option<Waker>,
    /// Since when a reader that is there takes nothing.
    pub(super) stuck: Option<Instant>,
    pub(super) over: bool,
    /// Why it is over.
    pub(super) last_word: Option<Closing>,
}

/// What waits for the reader of one stream.
#[derive(Debug)]
pub(super) struct Mailbox {
    /// Each with what it is about: on the connection's stream, that may be a session.
    pub(super) frames: VecDeque<(Target, Utf8Bytes)>,
    pub(super) reader: Option<Waker>,
    /// Since when nobody reads; `None` while somebody does.
    pub(super) left: Option<Instant>,
    /// Nobody came to read: a session's frames go on the connection's stream until somebody does.
    pub(super) joined: bool,
    /// Ends the exchange that carries the stream.
    pub(super) cut: CancellationToken,
}

impl Mailbox {
    pub(super) fn new() -> Self {
        let (frames, cut) = (VecDeque::new(), CancellationToken::new());
        Self { frames, reader: None, left: Some(Instant::now()), joined: false, cut }
    }

    pub(super) fn wake(&mut self) {
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
    }

    /// Returns when the frames of a session stop waiting for its own stream.
    pub(super) fn joins_at(&self) -> Option<Instant> {
        let waits = !self.joined && !self.frames.is_empty();
        self.left.filter(|_| waits).map(|left| left + OWN_STREAM)
    }
}

impl State {
    pub(super) fn goes_on_its_own(&mut self, session: &str) -> bool {
        if self.one {
            return false;
        }
        match self.sessions.get(session) {
            Some(known) => known.left.is_none() || !known.joined,
            None if self.sessions.len() < SESSIONS => {
                self.sessions.insert(session.into(), Mailbox::new());
                true
            }
            None => false,
        }
    }

    pub(super) fn mailbox(&mut self, target: Option<&str>) -> &mut Mailbox {
        match target.and_then(|session| self.sessions.get_mut(session)) {
            Some(known) => known,
            None => &mut self.connection,
        }
    }

    /// What waits for a session's stream goes on the connection's, and what comes later as well.
    pub(super) fn join(&mut self, session: &str) {
        let known = self.sessions.entry(session.into()).or_insert_with(Mailbox::new);
        known.joined = true;
        self.connection.frames.append(&mut known.frames);
        self.connection.wake();
        self.wake_writer();
    }

    /// What went on the connection's stream meanwhile, and was not read, comes first on the session's own.
    pub(super) fn part(&mut self, session: &str) {
        let frames = std::mem::take(&mut self.connection.frames);
        let (mut its, others): (VecDeque<_>, VecDeque<_>) =
            frames.into_iter().partition(|(about, _)| about.as_deref() == Some(session));
        self.connection.frames = others;
        if let Some(known) = self.sessions.get_mut(session) {
            its.append(&mut known.frames);
            known.frames = its;
        }
        self.wake_writer();
    }

    /// Returns whether a frame of so many bytes may wait. A larger one than all may have waits alone.
    pub(super) fn can_afford(&self, bytes: usize) -> bool {
        self.waiting == 0 || (self.waiting < BUDGET && self.bytes + bytes <= BUDGET_BYTES)
    }

    /// Returns whether a reader that is there leaves something lying.
    pub(super) fn is_kept_waiting(&self) -> bool {
        let keeps = |mailbox: &Mailbox| mailbox.left.is_none() && !mailbox.frames.is_empty();
        keeps(&self.connection) || self.sessions.values().any(keeps)
    }

    pub(super) fn wake_writer(&mut self) {
        if let Some(writer) = self.writer.take() {
            writer.wake();
        }
    }
}
