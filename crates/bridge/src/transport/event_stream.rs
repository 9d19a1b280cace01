//! The outgoing half of a remote connection: one event stream for the connection and one for each session.
//!
//! Frames wait in a few places until the reader of their stream takes them, and the writer waits with them: nobody's
//! memory grows. A frame that was handed to a stream which then broke is lost; the next stream goes on behind it. A
//! client that wants to be sure attaches again from the last update that it has.

use super::{Closing, STUCK};
use axum::response::sse::Event;
use futures::Stream;
use serde::{Deserialize, de::IgnoredAny};
use serde_json::value::RawValue;
use std::{
    borrow::Cow,
    collections::{HashMap, VecDeque},
    convert::Infallible,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
    time::Duration,
};
use tokio::{
    sync::{Notify, oneshot},
    time::{Instant, sleep_until},
};
use tokio_tungstenite::tungstenite::Utf8Bytes;
use tokio_util::sync::CancellationToken;

/// Frames that wait for the reader of a stream.
const WAITING: usize = 8;
/// How long a connection lives while nobody reads its stream.
pub(super) const LOST: Duration = Duration::from_secs(60);
/// How long a session's frames wait for its own stream, before they go on the connection's.
const OWN_STREAM: Duration = Duration::from_secs(5);
/// Sessions that are kept apart; those of others go on the connection's stream.
const SESSIONS: usize = 256;
/// Session streams that are open at a time: each of them holds a socket.
const OPEN: usize = 32;
/// Requests whose answer is awaited on a session's stream; those of others go on the connection's.
const ROUTES: usize = 256;

/// Which stream a frame belongs to: a session's, or the connection's.
pub(super) type Target = Option<Box<str>>;

/// Why a stream cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// Somebody reads it already.
    Taken,
    /// Too many are open.
    TooMany,
    /// The connection has ended.
    Over,
}

/// The streams of a connection.
#[derive(Debug)]
pub(super) struct Streams {
    state: Mutex<State>,
    /// Something may be due at another time than before.
    changed: Notify,
}

#[derive(Debug)]
struct State {
    connection: Mailbox,
    sessions: HashMap<Box<str>, Mailbox>,
    /// The sessions of requests that have no answer yet, by the request's id as it was written.
    routes: HashMap<Box<str>, Box<str>>,
    /// Everything goes on the connection's stream.
    one: bool,
    /// Whoever waits for the answer to `initialize`, and its id.
    initialize: Option<(Box<str>, oneshot::Sender<Utf8Bytes>)>,
    /// The writer, while it waits for room.
    writer: Option<Waker>,
    /// Since when a reader that is there takes nothing.
    stuck: Option<Instant>,
    over: bool,
    /// Why it is over.
    last_word: Option<Closing>,
}

/// What waits for the reader of one stream.
#[derive(Debug)]
struct Mailbox {
    frames: VecDeque<Utf8Bytes>,
    reader: Option<Waker>,
    /// Since when nobody reads; `None` while somebody does.
    left: Option<Instant>,
    /// Nobody came to read: a session's frames go on the connection's stream until somebody does.
    joined: bool,
    /// Ends the exchange that carries the stream.
    cut: CancellationToken,
}

impl Mailbox {
    fn new() -> Self {
        let (frames, cut) = (VecDeque::new(), CancellationToken::new());
        Self { frames, reader: None, left: Some(Instant::now()), joined: false, cut }
    }

    fn wake(&mut self) {
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
    }

    /// Returns when the frames of a session stop waiting for its own stream.
    fn joins_at(&self) -> Option<Instant> {
        let waits = !self.joined && !self.frames.is_empty();
        self.left.filter(|_| waits).map(|left| left + OWN_STREAM)
    }
}

impl State {
    fn goes_on_its_own(&mut self, session: &str) -> bool {
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

    fn mailbox(&mut self, target: Option<&str>) -> &mut Mailbox {
        match target.and_then(|session| self.sessions.get_mut(session)) {
            Some(known) => known,
            None => &mut self.connection,
        }
    }

    /// What waits for a session's stream goes on the connection's, and what comes later as well.
    fn join(&mut self, session: &str) {
        let known = self.sessions.entry(session.into()).or_insert_with(Mailbox::new);
        known.joined = true;
        self.connection.frames.append(&mut known.frames);
        self.connection.wake();
        self.wake_writer();
    }

    fn wake_writer(&mut self) {
        if let Some(writer) = self.writer.take() {
            writer.wake();
        }
    }
}

impl Streams {
    /// Makes the streams of a connection whose `initialize` has this id. Its answer comes out of the second value.
    pub(super) fn new(initialize: &str, one: bool) -> (Arc<Self>, oneshot::Receiver<Utf8Bytes>) {
        let (sender, answer) = oneshot::channel();
        let state = State {
            connection: Mailbox::new(),
            sessions: HashMap::new(),
            routes: HashMap::new(),
            one,
            initialize: Some((initialize.into(), sender)),
            writer: None,
            stuck: None,
            over: false,
            last_word: None,
        };
        (Arc::new(Self { state: Mutex::new(state), changed: Notify::new() }), answer)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers where the answer to a request about a session belongs. Whoever asks without reading the session's
    /// stream reads the connection's.
    pub(super) fn expect(&self, id: &str, session: &str) {
        let mut state = self.state();
        if state.one {
            return;
        }
        let is_read = state.sessions.get(session).is_some_and(|known| known.left.is_none());
        if is_read && state.routes.len() < ROUTES {
            state.routes.insert(id.into(), session.into());
        } else if !is_read && (state.sessions.len() < SESSIONS || state.sessions.contains_key(session)) {
            state.join(session);
        }
    }

    /// Finds the stream of a frame; `None` if it was the answer to `initialize`, and is delivered.
    pub(super) fn sort(&self, frame: &Utf8Bytes) -> Option<Target> {
        let mut state = self.state();
        if state.one && state.initialize.is_none() {
            return Some(None);
        }
        let Ok(peek) = serde_json::from_str::<Peek<'_>>(frame) else { return Some(None) };
        if peek.method.is_some() {
            return Some(peek.params.and_then(|params| params.session_id).map(|id| id.as_ref().into()));
        }
        let Some(id) = peek.id.map(RawValue::get) else { return Some(None) };
        if let Some((_, answer)) = state.initialize.take_if(|(known, _)| **known == *id) {
            // Whoever asked may have gone.
            let _ = answer.send(frame.clone());
            return None;
        }
        Some(state.routes.remove(id))
    }

    /// Puts a frame where its reader finds it; false while there is no room.
    pub(super) fn put(&self, target: &Target, frame: &Utf8Bytes, context: &Context<'_>) -> bool {
        let mut state = self.state();
        if state.over {
            return true;
        }
        let session = target.as_deref().filter(|session| state.goes_on_its_own(session));
        let mailbox = state.mailbox(session);
        let (has_room, is_read) = (mailbox.frames.len() < WAITING, mailbox.left.is_none());
        if has_room {
            let begins = mailbox.frames.is_empty() && !is_read;
            mailbox.frames.push_back(frame.clone());
            mailbox.wake();
            if begins && session.is_some() {
                mailbox.left = Some(Instant::now());
                self.changed.notify_one();
            }
            state.stuck = None;
        } else {
            state.writer = Some(context.waker().clone());
            if is_read {
                state.stuck.get_or_insert_with(Instant::now);
            }
        }
        has_room
    }

    /// Begins to read a stream. `cut` ends the exchange that carries it.
    pub(super) fn read(self: &Arc<Self>, session: Target, cut: CancellationToken) -> Result<Reader, Refusal> {
        let mut state = self.state();
        if state.over {
            return Err(Refusal::Over);
        }
        if let Some(session) = &session {
            let open = state.sessions.values().filter(|known| known.left.is_none()).count();
            if state.sessions.len() >= SESSIONS {
                // Whose stream nobody reads and nothing waits for can be made anew.
                state.sessions.retain(|_, known| known.left.is_none() || !known.frames.is_empty());
            }
            let is_new = !state.sessions.contains_key(session);
            if open >= OPEN || (is_new && state.sessions.len() >= SESSIONS) {
                return Err(Refusal::TooMany);
            }
            if is_new {
                state.sessions.insert(session.clone(), Mailbox::new());
            }
        }
        let mailbox = state.mailbox(session.as_deref());
        if mailbox.left.is_none() {
            return Err(Refusal::Taken);
        }
        (mailbox.left, mailbox.joined, mailbox.cut) = (None, false, cut);
        drop(state);
        self.changed.notify_one();
        Ok(Reader { streams: self.clone(), session, said_last_word: false })
    }

    /// Ends all streams once their readers have what waits for them.
    pub(super) fn end(&self, last_word: Option<&Closing>) {
        let mut state = self.state();
        if !state.over {
            (state.over, state.last_word) = (true, last_word.cloned());
        }
        state.connection.wake();
        state.sessions.values_mut().for_each(Mailbox::wake);
        state.wake_writer();
        drop(state);
        self.changed.notify_one();
    }

    /// Ends the exchanges of readers that are still there.
    pub(super) fn cut(&self) {
        let state = self.state();
        state.connection.cut.cancel();
        state.sessions.values().for_each(|known| known.cut.cancel());
    }

    /// Returns whether somebody reads.
    pub(super) fn is_read(&self) -> bool {
        let state = self.state();
        state.connection.left.is_none() || state.sessions.values().any(|known| known.left.is_none())
    }

    /// Returns when the connection has to end: nobody reads its stream for [`LOST`], or a reader takes nothing for
    /// [`STUCK`]; or when it has ended.
    pub(super) async fn watch(&self) {
        while let Some(due) = self.look_after() {
            tokio::select! {
                () = self.changed.notified() => {}
                () = sleep_until(due) => {}
            }
        }
    }

    /// Returns when to look again; `None` when the connection has to end.
    fn look_after(&self) -> Option<Instant> {
        let (mut state, now) = (self.state(), Instant::now());
        let lost = state.connection.left.map(|left| left + LOST);
        let stuck = state.stuck.map(|since| since + STUCK);
        if state.over || lost.into_iter().chain(stuck).any(|due| due <= now) {
            return None;
        }
        let joining = |known: &Mailbox| known.joins_at().is_some_and(|due| due <= now);
        let late: Vec<_> =
            state.sessions.iter().filter(|(_, known)| joining(known)).map(|(id, _)| id.clone()).collect();
        late.iter().for_each(|session| state.join(session));
        let joins = state.sessions.values().filter_map(Mailbox::joins_at).min();
        // Nobody tells when a reader begins to be slow.
        [lost, stuck, joins, Some(now + STUCK)].into_iter().flatten().min()
    }
}

/// The part of a frame that says where it belongs.
#[derive(Deserialize)]
struct Peek<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(default)]
    method: Option<IgnoredAny>,
    #[serde(borrow, default)]
    params: Option<PeekParams<'a>>,
}

#[derive(Deserialize)]
struct PeekParams<'a> {
    #[serde(borrow, default, rename = "sessionId")]
    session_id: Option<Cow<'a, str>>,
}

/// Reads one stream, event by event, as fast as its socket takes them.
#[derive(Debug)]
pub(super) struct Reader {
    streams: Arc<Streams>,
    session: Target,
    said_last_word: bool,
}

impl Stream for Reader {
    type Item = Result<Event, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let streams = self.streams.clone();
        let mut state = streams.state();
        let mailbox = state.mailbox(self.session.as_deref());
        if let Some(frame) = mailbox.frames.pop_front() {
            state.stuck = None;
            state.wake_writer();
            return Poll::Ready(Some(Ok(Event::default().data(frame))));
        }
        mailbox.reader = Some(context.waker().clone());
        if !state.over {
            return Poll::Pending;
        }
        let last_word = state.last_word.as_ref().filter(|_| !self.said_last_word);
        let event =
            last_word.map(|word| Event::default().comment(format!("closed {} {}", word.code, word.reason)));
        self.said_last_word = true;
        Poll::Ready(event.map(Ok))
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut state = self.streams.state();
        state.stuck = None;
        state.wake_writer();
        let mailbox = state.mailbox(self.session.as_deref());
        (mailbox.left, mailbox.reader) = (Some(Instant::now()), None);
        if let Some(session) = &self.session
            && mailbox.frames.is_empty()
        {
            state.sessions.remove(session);
        }
        drop(state);
        self.streams.changed.notify_one();
    }
}
