//! The sending half of a connection: answers in order, and the sessions that it follows.
//!
//! A session is not pushed here. The outbox has a position in each log and reads on at the socket's own pace, so a
//! slow client costs no memory and nobody has to be cut for being behind. Only one who takes nothing at all is cut.

use crate::{
    feed::{Feed, Watch},
    inspect::{Direction, Inspector, Line},
    rpc,
    sessions::{Folded, Folding, Queued, Session, StoredLog, Wake, beside},
    store::{StoreError, Stored},
    transport::{Closing, Socket},
};
use futures::{SinkExt, stream::SplitSink};
use openagents_core::{approval::Approval, model::Activity};
use serde_json::Value;
use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep_until},
};
use tokio_tungstenite::tungstenite::Message;
use tokio_util::sync::CancellationToken;

/// Answers that wait; a client that asks faster than it reads is not read from.
const ANSWERS: usize = 64;
/// Updates that are read at a time.
pub(crate) const PAGE: usize = 64;
/// The same once the receiving half has ended.
const LAST_WRITE: Duration = Duration::from_secs(1);
const PING_EVERY: Duration = Duration::from_secs(20);
/// Pings in a row that may stay without any sign of life.
const MISSES: u32 = 2;
/// What a slow reader takes between two pings: as much longer a ping is waited for that queues behind what was written.
const SLOW_READ: usize = 1 << 20;
/// More than this does not wait in the buffers of a socket.
const BUFFERED: usize = 8 << 20;

/// What a connection is told to send.
#[derive(Debug)]
pub(crate) enum Out {
    /// A response.
    Text(String),
    /// A response that the inspector does not show, because it is about the inspector.
    Unrecorded(String),
    /// A response, and from there on the updates of the session; what was under way of it is over before the response.
    Follow { session: Arc<Session>, from: From, answer: Option<String> },
    /// A response that comes after update `seq` of the session.
    After { session: Arc<Session>, seq: u64, text: String },
    /// From here on, every frame of every connection after number `since`.
    Inspect { since: u64 },
    /// From here on, what a feed tells whenever it differs from the snapshot that was just sent.
    Watch(Arc<Feed>, Value),
    /// No more updates of the session.
    Leave(Arc<Session>),
    /// A question whether the other end is still there.
    Ping,
    /// The end.
    Close(Closing),
}

/// Where a client begins to read a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum From {
    /// After this update.
    Update(u64),
    /// With what the log comes to up to this update.
    Folded(u64),
}

/// How a door shows updates.
pub(crate) trait Dialect: Send {
    /// Turns a page of updates into frames. `behind` says how many updates there are in all, this page included.
    fn project(&mut self, session: &Session, page: &[Arc<Stored>], behind: u64) -> Vec<Projected>;

    /// Returns what was held back, now that the session rests.
    fn rest(&mut self, session: &Session) -> Vec<Projected>;

    /// Returns the first update that is held back.
    fn held_back(&self, session: &Session) -> Option<u64>;

    /// Says what a session is doing, if this door shows that.
    fn activity(&mut self, session: &Session, activity: Option<Activity>) -> Option<String>;

    /// Asks for what somebody waits for in a session, and takes back what nobody waits for any more, if this door does.
    fn approvals(&mut self, session: &Session, pending: &[Approval]) -> Vec<String>;

    /// Turns a page of what a log comes to into frames, if this door shows that.
    fn folded(&mut self, _session: &Session, _page: &[Folded]) -> Vec<Projected> {
        Vec::new()
    }

    /// Says that this was what the log comes to up to `seq`.
    fn fold_ends(&mut self, _session: &Session, _seq: u64) -> Option<String> {
        None
    }

    /// Says which turns wait, if this door shows that.
    fn queue(&mut self, _session: &Session, _queued: &[Queued]) -> Option<String> {
        None
    }

    /// Says that the log could not be written.
    fn failed(&mut self, session: &Session, message: &str) -> String;
}

/// A frame, and the update up to which the client has seen everything once it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Projected {
    pub(crate) text: String,
    pub(crate) covers: u64,
}

/// The end of the queue that handlers hold.
pub(crate) type Outbox = mpsc::Sender<Out>;

/// A session that a connection follows, as it was left.
#[derive(Debug)]
pub(crate) struct Follow {
    pub(crate) session: Arc<Session>,
    /// The last update that the client has certainly been sent.
    pub(crate) written: u64,
    read: u64,
    /// What is sent before the updates after `read`.
    folding: Option<Box<Folding<StoredLog>>>,
    rested: bool,
    told: u64,
    /// The change of activity that the client knows of.
    activity: u64,
    /// The change of the pending approvals that the client knows of.
    approvals: u64,
    /// The change of the queue that the client knows of; `None` when it has to be told.
    queue: Option<u64>,
}

impl Follow {
    /// Returns the number of the last update that was sent, in whatever form.
    fn reached(&self) -> u64 {
        if self.folding.is_some() { 0 } else { self.read }
    }
}

/// Everything that the sending half works with.
pub(crate) struct Sender<D> {
    pub(crate) sink: SplitSink<Socket, Message>,
    pub(crate) dialect: D,
    pub(crate) line: Arc<Line>,
    pub(crate) inspector: Arc<Inspector>,
    /// Set by the receiving half at every sign of life.
    pub(crate) heard: Arc<AtomicBool>,
    /// A frame that is not taken within this time ends the connection.
    pub(crate) stuck: Duration,
    /// Cancelled when the receiving half has ended.
    pub(crate) hangup: CancellationToken,
    /// Cancelled when the bridge goes down.
    pub(crate) closing: CancellationToken,
}

/// What remains of a connection.
pub(crate) struct Remains {
    pub(crate) sink: SplitSink<Socket, Message>,
    pub(crate) follows: Vec<Follow>,
    /// How to end the socket; `None` when it is over already.
    pub(crate) closing: Option<Closing>,
}

/// Makes the queue of a connection.
pub(crate) fn queue() -> (Outbox, mpsc::Receiver<Out>) {
    mpsc::channel(ANSWERS)
}

/// Why sending stops: with a last word, or because the socket is over.
type End = Option<Closing>;

impl<D: Dialect> Sender<D> {
    /// Sends until the connection ends.
    pub(crate) async fn run(self, mut orders: mpsc::Receiver<Out>) -> Remains {
        let mut pump = Pump {
            sender: self,
            wake: Wake::default(),
            follows: Vec::new(),
            waiting: Vec::new(),
            inspected: None,
            watches: Vec::new(),
            next_ping: Instant::now() + PING_EVERY,
            pulse: Pulse::default(),
        };
        let closing = match pump.run(&mut orders).await {
            Ok(never) => match never {},
            Err(end) => end,
        };
        Remains { sink: pump.sender.sink, follows: pump.follows, closing }
    }
}

struct Pump<D> {
    sender: Sender<D>,
    wake: Wake,
    follows: Vec<Follow>,
    /// Responses that wait for an update of a session.
    waiting: Vec<(Arc<Session>, u64, String)>,
    inspected: Option<u64>,
    watches: Vec<Watch>,
    next_ping: Instant,
    pulse: Pulse,
}

/// Whether the other end is alive, as far as this end can tell.
#[derive(Debug, Default)]
struct Pulse {
    /// Something was written since the last ping: there was room again, so the reader takes what it is sent.
    wrote: bool,
    /// Bytes written since the last word from the other end; they may all lie before the next pong.
    ahead: usize,
    misses: u32,
}

impl Pulse {
    fn written(&mut self, bytes: usize) {
        self.wrote = true;
        self.ahead = self.ahead.saturating_add(bytes).min(BUFFERED);
    }

    /// Called before each ping. Returns whether one more is worth it.
    fn beats(&mut self, heard: bool) -> bool {
        if heard {
            self.ahead = 0;
        }
        let alive = std::mem::take(&mut self.wrote) || heard;
        self.misses = if alive { 0 } else { self.misses + 1 };
        let patience = u32::try_from(self.ahead / SLOW_READ).unwrap_or(u32::MAX);
        self.misses < MISSES.saturating_add(patience)
    }
}

impl<D: Dialect> Pump<D> {
    /// Nothing is dropped halfway: every branch of the waiting either takes an order or only wakes up.
    async fn run(&mut self, orders: &mut mpsc::Receiver<Out>) -> Result<Infallible, End> {
        let (closing, hangup) = (self.sender.closing.clone(), self.sender.hangup.clone());
        loop {
            while let Ok(order) = orders.try_recv() {
                self.obey(order).await?;
            }
            if hangup.is_cancelled() {
                return Err(None);
            }
            if Instant::now() >= self.next_ping {
                self.ping().await?;
            }
            if self.pump().await? {
                continue;
            }
            if closing.is_cancelled() {
                return Err(Some(Closing::going_away()));
            }
            let due = self.watches.iter().filter_map(Watch::due).min();
            let next = due.map_or(self.next_ping, |due| due.min(self.next_ping));
            let order = tokio::select! {
                order = orders.recv() => order,
                () = self.wake.notified() => None,
                () = sleep_until(next) => None,
                () = closing.cancelled() => None,
                () = hangup.cancelled() => None,
            };
            if let Some(order) = order {
                self.obey(order).await?;
            }
        }
    }

    async fn obey(&mut self, order: Out) -> Result<(), End> {
        match order {
            Out::Text(text) => self.write(text).await,
            Out::Unrecorded(text) => self.send(Message::text(text)).await,
            Out::Follow { session, from, answer } => {
                self.follow(session, from);
                match answer {
                    Some(text) => self.write(text).await,
                    None => Ok(()),
                }
            }
            Out::After { session, seq, text } => {
                self.waiting.push((session, seq, text));
                self.answer().await
            }
            Out::Inspect { since } => {
                self.sender.inspector.watch(&self.wake);
                self.inspected = Some(since);
                Ok(())
            }
            Out::Watch(feed, told) => {
                self.watches.retain(|watch| !watch.is_of(&feed));
                self.watches.push(Watch::begin(feed, told, &self.wake));
                Ok(())
            }
            Out::Leave(session) => {
                self.follows.retain(|follow| !Arc::ptr_eq(&follow.session, &session));
                Ok(())
            }
            Out::Ping => self.pass(Message::Ping(Default::default())).await,
            Out::Close(closing) => Err(Some(closing)),
        }
    }

    fn follow(&mut self, session: Arc<Session>, from: From) {
        session.watch(&self.wake);
        let told = session.head().failure.map_or(0, |failure| failure.number);
        // What is going on is told to whoever comes in the middle of it; that nothing is goes without saying.
        let (changes, doing) = session.activity();
        let activity = if doing.is_some() { 0 } else { changes };
        let (changes, queued) = session.queue();
        let queue = queued.is_empty().then_some(changes);
        let (read, folding) = match from {
            From::Update(since) => (since, None),
            From::Folded(until) => (until, Some(Box::new(session.folding(until)))),
        };
        let (written, rested, approvals) = (read, false, 0);
        let follow = Follow { session, written, read, folding, rested, told, activity, approvals, queue };
        match self.follows.iter_mut().find(|known| Arc::ptr_eq(&known.session, &follow.session)) {
            Some(known) => *known = follow,
            None => self.follows.push(follow),
        }
    }

    /// Sends at most one page of each session. Returns whether there was anything.
    async fn pump(&mut self) -> Result<bool, End> {
        let mut progress = false;
        for index in 0..self.follows.len() {
            progress |= self.advance(index).await?;
        }
        self.answer().await?;
        for index in 0..self.watches.len() {
            if let Some(text) = self.watches.get_mut(index).and_then(Watch::news) {
                self.write(text).await?;
            }
        }
        Ok(progress | self.show_frames().await?)
    }

    async fn advance(&mut self, index: usize) -> Result<bool, End> {
        let Some(follow) = self.follows.get_mut(index) else { return Ok(false) };
        if let Some(folding) = follow.folding.take() {
            return self.advance_fold(index, folding).await;
        }
        let (session, read, told) = (follow.session.clone(), follow.read, follow.told);
        let head = session.head();
        if head.seq > read {
            let page = session.read_after(read, PAGE).await.map_err(|error| Some(unreadable(&error)))?;
            let Some(last) = page.last().map(|update| update.seq) else { return Ok(false) };
            let frames = self.sender.dialect.project(&session, &page, head.seq - read);
            self.write_all(index, frames).await?;
            let held_back = self.sender.dialect.held_back(&session);
            if let Some(follow) = self.follows.get_mut(index) {
                (follow.read, follow.rested) = (last, false);
                follow.written = held_back.map_or(last, |first| first.saturating_sub(1));
            }
            return Ok(true);
        }
        let changes = session.queue_changes();
        if follow.queue != Some(changes) {
            let (changes, queued) = session.queue();
            if let Some(text) = self.sender.dialect.queue(&session, &queued) {
                self.write(text).await?;
            }
            if let Some(follow) = self.follows.get_mut(index) {
                follow.queue = Some(changes);
            }
            return Ok(true);
        }
        let (changes, doing) = session.activity();
        if changes != follow.activity {
            if let Some(text) = self.sender.dialect.activity(&session, doing) {
                self.write(text).await?;
            }
            if let Some(follow) = self.follows.get_mut(index) {
                follow.activity = changes;
            }
            return Ok(true);
        }
        if let Some((changes, pending)) = session.approvals_since(follow.approvals) {
            for text in self.sender.dialect.approvals(&session, &pending) {
                self.write(text).await?;
            }
            if let Some(follow) = self.follows.get_mut(index) {
                follow.approvals = changes;
            }
            return Ok(true);
        }
        let rests = !head.running && !follow.rested;
        if rests {
            let frames = self.sender.dialect.rest(&session);
            self.write_all(index, frames).await?;
        }
        let failure = head.failure.filter(|failure| failure.number > told);
        if let Some(failure) = &failure {
            let text = self.sender.dialect.failed(&session, &failure.message);
            self.write(text).await?;
        }
        if let Some(follow) = self.follows.get_mut(index) {
            if rests {
                (follow.rested, follow.written) = (true, read);
            }
            follow.told = failure.map_or(told, |failure| failure.number);
        }
        Ok(false)
    }

    /// Sends a page of what the log comes to.
    async fn advance_fold(
        &mut self,
        index: usize,
        mut folding: Box<Folding<StoredLog>>,
    ) -> Result<bool, End> {
        let Some(follow) = self.follows.get(index) else { return Ok(false) };
        let (session, until) = (follow.session.clone(), follow.read);
        let read = move || (folding.next(), folding);
        let (page, folding) = beside(read).await.ok_or_else(|| Some(unreadable(&StoreError::Closed)))?;
        let page = page.map_err(|error| Some(unreadable(&error)))?;
        if page.is_empty() {
            if let Some(text) = self.sender.dialect.fold_ends(&session, until) {
                self.write(text).await?;
            }
            return Ok(true);
        }
        for frame in self.sender.dialect.folded(&session, &page) {
            self.write(frame.text).await?;
        }
        if let Some(follow) = self.follows.get_mut(index) {
            follow.folding = Some(folding);
        }
        Ok(true)
    }

    async fn write_all(&mut self, index: usize, frames: Vec<Projected>) -> Result<(), End> {
        for frame in frames {
            self.write(frame.text).await?;
            if let Some(follow) = self.follows.get_mut(index) {
                follow.written = frame.covers;
            }
        }
        Ok(())
    }

    /// Sends the responses whose time has come, in the order of their requests.
    async fn answer(&mut self) -> Result<(), End> {
        let mut index = 0;
        while let Some((session, seq, _)) = self.waiting.get(index) {
            let read =
                self.follows.iter().find(|follow| Arc::ptr_eq(&follow.session, session)).map(Follow::reached);
            if read.is_some_and(|read| read < *seq) {
                index += 1;
                continue;
            }
            let (_, _, text) = self.waiting.remove(index);
            self.write(text).await?;
        }
        Ok(())
    }

    async fn show_frames(&mut self) -> Result<bool, End> {
        let Some(since) = self.inspected else { return Ok(false) };
        let frames = self.sender.inspector.after(since, PAGE);
        for frame in &frames {
            let text = rpc::notification("_openagents/frame", &frame.to_wire());
            self.send(Message::text(text)).await?;
            self.inspected = Some(frame.number());
        }
        Ok(!frames.is_empty())
    }

    async fn write(&mut self, text: String) -> Result<(), End> {
        self.sender.inspector.record(&self.sender.line, Direction::Out, &text);
        self.send(Message::text(text)).await
    }

    async fn ping(&mut self) -> Result<(), End> {
        if !self.pulse.beats(self.sender.heard.swap(false, Ordering::Relaxed)) {
            return Err(None);
        }
        self.next_ping = Instant::now() + PING_EVERY;
        // No sign of life: a ping always finds room in the buffer of an idle socket, dead or alive.
        self.pass(Message::Ping(Default::default())).await
    }

    async fn send(&mut self, message: Message) -> Result<(), End> {
        let bytes = message.len();
        self.pass(message).await?;
        self.pulse.written(bytes);
        Ok(())
    }

    async fn pass(&mut self, message: Message) -> Result<(), End> {
        // Nothing more comes from the other end, which may be dead: what it takes it takes soon.
        let given_up = async {
            self.sender.hangup.cancelled().await;
            tokio::time::sleep(LAST_WRITE).await;
        };
        tokio::select! {
            biased;
            sent = tokio::time::timeout(self.sender.stuck, self.sender.sink.send(message)) => match sent {
                Ok(Ok(())) => Ok(()),
                Ok(Err(_)) | Err(_) => Err(None),
            },
            () = given_up => Err(None),
        }
    }
}

fn unreadable(error: &StoreError) -> Closing {
    Closing { code: 1011, reason: crate::prune::head(&error.to_string(), 120).to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_reader_that_takes_what_is_written_is_not_cut() {
        let mut pulse = Pulse::default();
        for _ in 0..1000 {
            pulse.written(256 << 10);
            assert!(pulse.beats(false));
        }
        // The backlog is written, but most of it still lies in the buffers, and the pings behind it.
        for _ in 0..5 {
            assert!(pulse.beats(false));
        }
        assert!(pulse.beats(true));
    }

    #[test]
    fn a_reader_without_a_pulse_is_cut() {
        let mut pulse = Pulse::default();
        assert!(pulse.beats(true) && pulse.beats(false));
        assert!(!pulse.beats(false));
        // A dead one that was sent a little is waited for no longer than an idle one.
        let mut pulse = Pulse::default();
        pulse.written(1000);
        assert!(pulse.beats(false) && pulse.beats(false));
        assert!(!pulse.beats(false));
        let mut pulse = Pulse::default();
        pulse.written(usize::MAX);
        assert!((0..20).any(|_| !pulse.beats(false)));
    }
}
