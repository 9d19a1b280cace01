//! The outgoing half of a remote connection: one event stream for the connection and one for each session.
//!
//! Frames wait in small bounded mailboxes until the reader of their stream takes them; a full mailbox makes the writer
//! wait. If a stream breaks, frames already written to it are lost, and the next stream continues after them. A client
//! that needs every update attaches again from the last update that it has.

use crate::limits::STUCK;
use crate::mailbox::{Closing, Mailbox, SESSIONS, StreamsState, Target};
use axum::response::sse::Event;
use futures::Stream;
use parking_lot::Mutex;
use serde::{Deserialize, de::IgnoredAny};
use serde_json::value::RawValue;
use std::{
    borrow::Cow,
    collections::HashMap,
    convert::Infallible,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};
use tokio::{
    sync::{Notify, oneshot},
    time::{Instant, sleep_until},
};
use tokio_tungstenite::tungstenite::Utf8Bytes;
use tokio_util::sync::CancellationToken;

const WAITING: usize = 8;
/// Lifetime of a connection whose stream has no reader.
pub(crate) const LOST: Duration = Duration::from_secs(60);
/// Maximum number of open session streams; each holds a socket.
const OPEN: usize = 32;
/// Maximum number of requests whose answers go to a session's stream; further answers go to the connection's.
const ROUTES: usize = 256;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamRefusal {
    Taken,
    TooMany,
    Over,
}

#[derive(Debug)]
pub struct Streams {
    state: Mutex<StreamsState>,
    changed: Notify,
}

impl Streams {
    /// Creates the streams of a connection whose `initialize` has this id. The second value receives its answer.
    pub fn new(initialize: &str, one: bool) -> (Arc<Self>, oneshot::Receiver<Utf8Bytes>) {
        let (sender, answer) = oneshot::channel();
        let state = StreamsState {
            connection: Mailbox::new(),
            sessions: HashMap::new(),
            waiting: 0,
            bytes: 0,
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

    /// Records the stream for the answer to a request about a session: the session's stream, or the connection's stream
    /// if the session's has no reader.
    pub fn await_answer(&self, id: &str, session: &str) {
        let mut state = self.state.lock();
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

    /// Finds the stream of a frame; `None` if it was the answer to `initialize`, which is delivered.
    pub(crate) fn route(&self, frame: &Utf8Bytes) -> Option<Target> {
        let mut state = self.state.lock();
        if state.one && state.initialize.is_none() {
            return Some(None);
        }
        let Ok(peek) = serde_json::from_str::<Peek<'_>>(frame) else { return Some(None) };
        if peek.method.is_some() {
            return Some(peek.params.and_then(|params| params.session_id).map(|id| id.as_ref().into()));
        }
        let Some(id) = peek.id.map(RawValue::get) else { return Some(None) };
        if let Some((_, answer)) = state.initialize.take_if(|(known, _)| **known == *id) {
            // The client may have dropped the request.
            let _ = answer.send(frame.clone());
            return None;
        }
        Some(state.routes.remove(id))
    }

    /// Queues a frame for its reader. Returns `false` while there is no room.
    pub(crate) fn try_queue(&self, target: &Target, frame: &Utf8Bytes, context: &Context<'_>) -> bool {
        let mut state = self.state.lock();
        if state.over {
            return true;
        }
        let session = target.as_deref().filter(|session| state.has_own_stream(session));
        let can_afford = state.can_afford(frame.len());
        let mailbox = state.mailbox(session);
        let has_room = can_afford && mailbox.frames.len() < WAITING;
        if has_room {
            let begins = mailbox.frames.is_empty() && mailbox.left.is_some();
            mailbox.frames.push_back((target.clone(), frame.clone()));
            mailbox.wake();
            if begins && session.is_some() {
                mailbox.left = Some(Instant::now());
                self.changed.notify_one();
            }
            state.waiting += 1;
            state.bytes += frame.len();
            state.stuck = None;
        } else {
            state.writer = Some(context.waker().clone());
            if state.is_kept_waiting() {
                state.stuck.get_or_insert_with(Instant::now);
            }
        }
        has_room
    }

    /// Starts reading a stream. `cut` ends the exchange that carries it.
    pub fn open_reader(
        self: &Arc<Self>,
        session: Target,
        cut: CancellationToken,
    ) -> Result<Reader, StreamRefusal> {
        let mut state = self.state.lock();
        if state.over {
            return Err(StreamRefusal::Over);
        }
        if let Some(session) = &session {
            let open = state.sessions.values().filter(|known| known.left.is_none()).count();
            if state.sessions.len() >= SESSIONS {
                // An idle mailbox without a reader can be recreated later.
                state.sessions.retain(|_, known| known.left.is_none() || !known.frames.is_empty());
            }
            let is_new = !state.sessions.contains_key(session);
            if open >= OPEN || (is_new && state.sessions.len() >= SESSIONS) {
                return Err(StreamRefusal::TooMany);
            }
            if is_new {
                state.sessions.insert(session.clone(), Mailbox::new());
            }
        }
        let mailbox = state.mailbox(session.as_deref());
        if mailbox.left.is_none() {
            return Err(StreamRefusal::Taken);
        }
        (mailbox.left, mailbox.joined, mailbox.cut) = (None, false, cut);
        if let Some(session) = &session {
            state.part(session);
        }
        drop(state);
        self.changed.notify_one();
        Ok(Reader { streams: self.clone(), session, sent_last_word: false })
    }

    /// Ends all streams once their readers have taken the queued frames.
    pub fn end(&self, last_word: Option<&Closing>) {
        let mut state = self.state.lock();
        if !state.over {
            (state.over, state.last_word) = (true, last_word.cloned());
        }
        state.connection.wake();
        state.sessions.values_mut().for_each(Mailbox::wake);
        state.wake_writer();
        drop(state);
        self.changed.notify_one();
    }

    pub fn cut(&self) {
        let state = self.state.lock();
        // The exchange of a reader that left may share an HTTP/2 connection with other clients.
        let all = std::iter::once(&state.connection).chain(state.sessions.values());
        all.filter(|known| known.left.is_none()).for_each(|known| known.cut.cancel());
    }

    pub fn is_read(&self) -> bool {
        let state = self.state.lock();
        state.connection.left.is_none() || state.sessions.values().any(|known| known.left.is_none())
    }

    /// Waits until the connection must end: its stream has had no reader for [`LOST`], a reader has taken nothing for
    /// [`STUCK`], or it has already ended.
    pub async fn watch(&self) {
        while let Some(due) = self.next_deadline() {
            tokio::select! {
                () = self.changed.notified() => {}
                () = sleep_until(due) => {}
            }
        }
    }

    /// Returns the next deadline; `None` if the connection must end.
    fn next_deadline(&self) -> Option<Instant> {
        let (mut state, now) = (self.state.lock(), Instant::now());
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
        // Nothing notifies when a reader becomes stuck.
        [lost, stuck, joins, Some(now + STUCK)].into_iter().flatten().min()
    }
}

/// The part of a frame that determines its stream.
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

#[derive(Debug)]
pub struct Reader {
    streams: Arc<Streams>,
    session: Target,
    sent_last_word: bool,
}

impl Stream for Reader {
    type Item = Result<Event, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let streams = self.streams.clone();
        let mut state = streams.state.lock();
        let mailbox = state.mailbox(self.session.as_deref());
        if let Some((_, frame)) = mailbox.frames.pop_front() {
            state.waiting -= 1;
            state.bytes -= frame.len();
            state.stuck = None;
            state.wake_writer();
            return Poll::Ready(Some(Ok(Event::default().data(frame))));
        }
        mailbox.reader = Some(context.waker().clone());
        if !state.over {
            return Poll::Pending;
        }
        let last_word = state.last_word.as_ref().filter(|_| !self.sent_last_word);
        let event = last_word.map(|word| Event::default().comment(comment(word)));
        self.sent_last_word = true;
        Poll::Ready(event.map(Ok))
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut state = self.streams.state.lock();
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

/// Returns a close reason as an event-stream comment, which must be a single line.
fn comment(word: &Closing) -> String {
    let reason: String =
        word.reason.chars().map(|character| if character.is_control() { ' ' } else { character }).collect();
    format!("closed {} {reason}", word.code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mailbox::{BUDGET, BUDGET_BYTES, OWN_STREAM};
    use futures::{FutureExt, StreamExt, task::noop_waker};

    fn streams() -> Arc<Streams> {
        let (streams, _answer) = Streams::new("0", false);
        assert_eq!(streams.route(&response("0")), None);
        streams
    }

    fn response(id: &str) -> Utf8Bytes {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#).into()
    }

    fn update(session: &str, n: usize) -> Utf8Bytes {
        let params = format!(r#"{{"n":{n},"sessionId":"{session}"}}"#);
        format!(r#"{{"jsonrpc":"2.0","method":"session/update","params":{params}}}"#).into()
    }

    fn try_queue(streams: &Streams, frame: &Utf8Bytes) -> bool {
        let target = streams.route(frame).unwrap();
        streams.try_queue(&target, frame, &Context::from_waker(&noop_waker()))
    }

    fn open(streams: &Arc<Streams>, session: Option<&str>) -> Result<Reader, StreamRefusal> {
        streams.open_reader(session.map(Into::into), CancellationToken::new())
    }

    /// Takes the queued frames and returns their number.
    fn take(reader: &mut Reader) -> usize {
        std::iter::from_fn(|| reader.next().now_or_never().flatten()).count()
    }

    fn take_events(reader: &mut Reader) -> Vec<Event> {
        std::iter::from_fn(|| reader.next().now_or_never().flatten()).map(|event| event.unwrap()).collect()
    }

    #[tokio::test]
    async fn route_finds_the_stream_of_a_frame() {
        let streams = streams();
        let _reader = open(&streams, Some("a")).unwrap();
        streams.await_answer("7", "a");
        streams.await_answer("\"8\"", "no reader");
        let session = |session: &str| Some(Some(session.into()));
        for (frame, expected) in [
            (update("a", 1), session("a")),
            (update("b \\u0063", 1), session("b c")),
            (response("7"), session("a")),
            // Each id is answered once.
            (response("7"), Some(None)),
            (response("\"8\""), Some(None)),
            (r#"{"jsonrpc":"2.0","id":"x","method":"session/request_permission","params":{"sessionId":"a"}}"#.into(), session("a")),
            (r#"{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"x"}}"#.into(), Some(None)),
            (r#"{"jsonrpc":"2.0","id":null,"error":{}}"#.into(), Some(None)),
            ("no frame".into(), Some(None)),
        ] {
            assert_eq!(streams.route(&frame), expected, "{frame}");
        }
        let (one, mut answer) = Streams::new("\"a\"", true);
        assert_eq!(one.route(&update("a", 1)), Some(Some("a".into())));
        assert_eq!(one.route(&response("\"a\"")), None);
        assert_eq!(answer.try_recv().unwrap(), response("\"a\""));
        assert_eq!(one.route(&update("a", 1)), Some(None));
    }

    #[tokio::test]
    async fn stream_has_one_reader_and_a_limit() {
        let streams = streams();
        let reader = open(&streams, None).unwrap();
        assert_eq!(open(&streams, None).unwrap_err(), StreamRefusal::Taken);
        drop(reader);
        let _reader = open(&streams, None).unwrap();
        let all: Vec<_> = (0..OPEN).map(|n| open(&streams, Some(&n.to_string())).unwrap()).collect();
        assert_eq!(open(&streams, Some("one more")).unwrap_err(), StreamRefusal::TooMany);
        drop(all);
        assert!(open(&streams, Some("one more")).is_ok());
        streams.end(None);
        assert_eq!(open(&streams, Some("late")).unwrap_err(), StreamRefusal::Over);
    }

    #[tokio::test]
    async fn broken_stream_continues() {
        let streams = streams();
        let mut reader = open(&streams, None).unwrap();
        assert!(try_queue(&streams, &response("1")) && try_queue(&streams, &response("2")));
        assert!(reader.next().now_or_never().is_some());
        drop(reader);
        assert!(try_queue(&streams, &response("3")));
        assert_eq!(take(&mut open(&streams, None).unwrap()), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn connection_without_reader_ends_after_a_minute() {
        let (streams, begun) = (streams(), Instant::now());
        streams.watch().await;
        assert_eq!(begun.elapsed(), LOST);
        let streams = self::streams();
        let reader = open(&streams, None).unwrap();
        let watched = tokio::time::timeout(LOST * 10, streams.watch()).await;
        assert!(watched.is_err());
        drop(reader);
        let left = Instant::now();
        // A session's stream does not keep the connection alive.
        let _session = open(&streams, Some("a")).unwrap();
        streams.watch().await;
        assert_eq!(left.elapsed(), LOST);
    }

    #[tokio::test(start_paused = true)]
    async fn stuck_reader_ends_its_connection() {
        let streams = streams();
        let mut reader = open(&streams, None).unwrap();
        for n in 0..WAITING {
            assert!(try_queue(&streams, &response(&n.to_string())));
        }
        assert!(!try_queue(&streams, &response("100")));
        // A reader that takes a frame now and then stays connected.
        for n in 0..10 {
            assert!(tokio::time::timeout(STUCK / 2, streams.watch()).await.is_err());
            assert!(reader.next().now_or_never().is_some());
            assert!(try_queue(&streams, &response(&n.to_string())));
            assert!(!try_queue(&streams, &response("100")));
        }
        let stuck = Instant::now();
        streams.watch().await;
        assert!((STUCK..=2 * STUCK).contains(&stuck.elapsed()), "{:?}", stuck.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn frames_for_an_unopened_stream_move_to_the_connection() {
        let streams = streams();
        let mut reader = open(&streams, None).unwrap();
        for n in 0..WAITING {
            assert!(try_queue(&streams, &update("a", n)));
        }
        assert!(!try_queue(&streams, &update("a", WAITING)));
        assert!(try_queue(&streams, &update("b", 0)), "one session holds up another");
        assert_eq!(take(&mut reader), 0);
        assert!(tokio::time::timeout(OWN_STREAM, streams.watch()).await.is_err());
        assert_eq!(take(&mut reader), WAITING + 1);
        assert!(try_queue(&streams, &update("a", WAITING)));
        assert_eq!(take(&mut reader), 1);
        // Once opened, the session's stream gets the rest.
        let mut own = open(&streams, Some("a")).unwrap();
        assert!(try_queue(&streams, &update("a", WAITING + 1)));
        assert_eq!((take(&mut own), take(&mut reader)), (1, 0));
        // A request about a session without a reader moves its frames to the connection's stream.
        assert!(try_queue(&streams, &update("c", 0)));
        streams.await_answer("9", "c");
        assert_eq!(take(&mut reader), 1);
    }

    /// Regression: full mailboxes without a reader were all moved to one.
    #[tokio::test(start_paused = true)]
    async fn queued_frames_are_limited_per_connection() {
        let streams = streams();
        let mut reader = open(&streams, None).unwrap();
        let fill = || -> usize {
            (0..100)
                .flat_map(|s| (0..WAITING).map(move |n| (s, n)))
                .filter(|(s, n)| try_queue(&streams, &update(&s.to_string(), *n)))
                .count()
        };
        assert_eq!(fill(), BUDGET);
        assert!(tokio::time::timeout(OWN_STREAM, streams.watch()).await.is_err());
        assert_eq!((fill(), take(&mut reader)), (0, BUDGET));
        // The budget also limits bytes; a frame above the whole budget is queued alone.
        let long = Utf8Bytes::from(format!("{{\"id\":1,\"result\":\"{}\"}}", "x".repeat(BUDGET_BYTES / 2)));
        let longest = Utf8Bytes::from("x".repeat(2 * BUDGET_BYTES));
        assert!(try_queue(&streams, &long) && !try_queue(&streams, &long) && !try_queue(&streams, &longest));
        assert_eq!(take(&mut reader), 1);
        assert!(try_queue(&streams, &longest) && !try_queue(&streams, &response("1")));
        assert_eq!(take(&mut reader), 1);
        assert!(try_queue(&streams, &response("1")));
    }

    /// Regression: early frames stayed on the connection's stream while later ones were read on the session's.
    #[tokio::test]
    async fn late_stream_keeps_frame_order() {
        let streams = streams();
        let mut connection = open(&streams, None).unwrap();
        streams.await_answer("1", "a");
        for frame in [update("a", 1), response("1"), update("b", 1), update("a", 2)] {
            assert!(try_queue(&streams, &frame));
        }
        let mut own = open(&streams, Some("a")).unwrap();
        assert!(try_queue(&streams, &update("a", 3)));
        let expected = [1, 2, 3].map(|n| format!("{:?}", Event::default().data(update("a", n))));
        assert_eq!(
            take_events(&mut own).iter().map(|event| format!("{event:?}")).collect::<Vec<_>>(),
            expected
        );
        assert_eq!(take(&mut connection), 1);
    }

    #[tokio::test]
    async fn multi_line_close_reason_ends_the_stream() {
        let streams = streams();
        let mut reader = open(&streams, None).unwrap();
        streams.end(Some(&Closing { code: 1011, reason: "one\ntwo\r\nthree\0".to_owned() }));
        assert_eq!(take(&mut reader), 1);
        assert!(matches!(reader.next().now_or_never(), Some(None)));
    }

    /// With HTTP/2 several clients may share one connection.
    #[tokio::test]
    async fn cut_spares_former_readers() {
        let streams = streams();
        let (left, stays) = (CancellationToken::new(), CancellationToken::new());
        drop(streams.open_reader(None, left.clone()).unwrap());
        let _reader = streams.open_reader(Some("a".into()), stays.clone()).unwrap();
        streams.cut();
        assert_eq!((left.is_cancelled(), stays.is_cancelled()), (false, true));
    }
}
