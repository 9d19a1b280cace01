//! Frames queued for the readers of a remote connection: a few per stream, within one budget.

use std::{
    collections::{HashMap, VecDeque},
    task::Waker,
    time::Duration,
};
use tokio::{sync::oneshot, time::Instant};
use tokio_tungstenite::tungstenite::{
    Message, Utf8Bytes,
    protocol::{CloseFrame, frame::coding::CloseCode},
};
use tokio_util::sync::CancellationToken;

/// Maximum number of frames queued for all readers of a connection, and of their bytes.
pub(crate) const BUDGET: usize = 64;
pub(crate) const BUDGET_BYTES: usize = 4 << 20;
/// How long a session's frames wait for the session's stream before they move to the connection's stream.
pub(crate) const OWN_STREAM: Duration = Duration::from_secs(5);
/// Maximum number of session mailboxes; frames of further sessions go to the connection's stream.
pub(crate) const SESSIONS: usize = 256;
/// The stream of a frame: a session's, or the connection's if `None`.
pub type Target = Option<Box<str>>;

#[derive(Debug)]
pub(crate) struct StreamsState {
    pub(crate) connection: Mailbox,
    pub(crate) sessions: HashMap<Box<str>, Mailbox>,
    /// Frames queued in all mailboxes, and their bytes.
    pub(crate) waiting: usize,
    pub(crate) bytes: usize,
    /// The sessions of unanswered requests, by the request's raw id.
    pub(crate) routes: HashMap<Box<str>, Box<str>>,
    /// Everything goes to the connection's stream.
    pub(crate) one: bool,
    /// The id of `initialize`, and the receiver of its answer.
    pub(crate) initialize: Option<(Box<str>, oneshot::Sender<Utf8Bytes>)>,
    pub(crate) writer: Option<Waker>,
    /// When a current reader stopped taking frames; `None` while the readers keep up.
    pub(crate) stuck: Option<Instant>,
    pub(crate) over: bool,
    pub(crate) last_word: Option<Closing>,
}

#[derive(Debug)]
pub(crate) struct Mailbox {
    /// Each frame with its original target: the connection's stream may hold frames of a session.
    pub(crate) frames: VecDeque<(Target, Utf8Bytes)>,
    pub(crate) reader: Option<Waker>,
    /// Start of the time without a reader; `None` while there is a reader.
    pub(crate) left: Option<Instant>,
    /// No reader connected in time: the session's frames go to the connection's stream until one does.
    pub(crate) joined: bool,
    pub(crate) cut: CancellationToken,
}

impl Mailbox {
    pub(crate) fn new() -> Self {
        let (frames, cut) = (VecDeque::new(), CancellationToken::new());
        Self { frames, reader: None, left: Some(Instant::now()), joined: false, cut }
    }

    pub(crate) fn wake(&mut self) {
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
    }

    pub(crate) fn joins_at(&self) -> Option<Instant> {
        let waits = !self.joined && !self.frames.is_empty();
        self.left.filter(|_| waits).map(|left| left + OWN_STREAM)
    }
}

impl StreamsState {
    pub(crate) fn has_own_stream(&mut self, session: &str) -> bool {
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

    pub(crate) fn mailbox(&mut self, target: Option<&str>) -> &mut Mailbox {
        match target.and_then(|session| self.sessions.get_mut(session)) {
            Some(known) => known,
            None => &mut self.connection,
        }
    }

    /// Moves a session's frames, including later ones, to the connection's stream.
    pub(crate) fn join(&mut self, session: &str) {
        let known = self.sessions.entry(session.into()).or_insert_with(Mailbox::new);
        known.joined = true;
        self.connection.frames.append(&mut known.frames);
        self.connection.wake();
        self.wake_writer();
    }

    /// Moves a session's unread frames from the connection's stream to the front of the session's stream.
    pub(crate) fn part(&mut self, session: &str) {
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

    /// Returns whether a frame of `bytes` bytes fits the budget. A frame above the whole budget is queued alone.
    pub(crate) fn can_afford(&self, bytes: usize) -> bool {
        self.waiting == 0 || (self.waiting < BUDGET && self.bytes + bytes <= BUDGET_BYTES)
    }

    pub(crate) fn is_kept_waiting(&self) -> bool {
        let keeps = |mailbox: &Mailbox| mailbox.left.is_none() && !mailbox.frames.is_empty();
        keeps(&self.connection) || self.sessions.values().any(keeps)
    }

    pub(crate) fn wake_writer(&mut self) {
        if let Some(writer) = self.writer.take() {
            writer.wake();
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Closing {
    pub code: u16,
    pub reason: String,
}

impl Closing {
    pub(crate) fn going_away() -> Self {
        Self { code: 1001, reason: "OpenAgents is shutting down.".to_owned() }
    }

    pub fn too_big(limit: usize) -> Self {
        Self { code: 1009, reason: format!("A frame may have {limit} bytes at most.") }
    }

    pub fn not_text() -> Self {
        Self { code: 1003, reason: "Frames must be UTF-8 text.".to_owned() }
    }

    /// Codes from 4000 on are application-defined; the page handles this one.
    pub fn no_token() -> Self {
        Self { code: 4401, reason: "The token is missing or wrong.".to_owned() }
    }

    pub(crate) fn removed() -> Self {
        let reason = format!(
            "This device was removed on {}.",
            openagents_core::text::prefix(crate::pass::computer_name(), 64)
        );
        Self { code: 4403, reason }
    }

    /// For a client that stopped reading. Updates up to `written` may have been read.
    pub(crate) fn too_slow(written: u64) -> Self {
        Self { code: 4408, reason: format!("Attach again from update {written}.") }
    }

    pub(crate) fn message(&self) -> Message {
        Message::Close(Some(CloseFrame {
            code: CloseCode::from(self.code),
            reason: self.reason.as_str().into(),
        }))
    }
}
