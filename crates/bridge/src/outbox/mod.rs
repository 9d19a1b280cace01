//! The sending half of a connection: answers in order, and the sessions that it follows.
//!
//! A session is not pushed here. The outbox has a position in each log and reads on at the socket's own pace: there is no
//! queue of updates that could overflow, so a slow client costs no memory, nobody has to be cut for being behind, and no
//! update can come twice, out of order or not at all. Catching up and being live are the same: the memory of the session
//! has the last updates, the store all of them. Only one who takes nothing at all is cut.

mod dialect;
mod following;
mod orders;
mod writing;

pub(crate) use dialect::{Dialect, HeldBack, Projected};
pub(crate) use following::{Follow, From, PAGE};
pub(crate) use orders::{Orders, Outbox, queue};

use crate::{
    access::Scope,
    feed::{Feed, Watch},
    inspect::{Inspector, Line},
    rpc,
    transport::{Closing, Socket},
};
use futures::stream::SplitSink;
use openagents_sessions::{ListWatch, Session, Wake};
use orders::Order;
use serde_json::Value;
use std::{
    convert::Infallible,
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};
use tokio::{
    sync::OwnedSemaphorePermit,
    time::{Instant, sleep_until},
};
use tokio_tungstenite::tungstenite::Message;
use tokio_util::sync::CancellationToken;
use writing::{PING_EVERY, Pulse};

/// So many readers of a session are woken for every update. More share out the work: each more of them waits a little
/// longer between two looks, up to [`LONGEST_PAUSE`], and then takes all that has come meanwhile.
const READERS: u32 = 16;
/// What each reader beyond [`READERS`] adds to the pause.
const PAUSE: Duration = Duration::from_micros(60);
const LONGEST_PAUSE: Duration = Duration::from_millis(15);

/// What a connection is told to send.
#[derive(Debug)]
pub(crate) enum Out {
    /// A response.
    Text(String),
    /// A response that the inspector does not show, because it is about the inspector.
    Unrecorded(String),
    /// A response, and from there on the updates of the session; what was under way of it is over before the response.
    /// `queue` is the change of its queue that the response tells of.
    Follow { session: Arc<Session>, from: From, queue: Option<u64>, answer: Option<String> },
    /// The updates of a session after `since`, unless it is followed already.
    Join { session: Arc<Session>, since: u64 },
    /// A response that comes after update `seq` of the session.
    After { session: Arc<Session>, seq: u64, text: String },
    /// From here on, every frame of every connection after number `since`.
    Inspect { since: u64 },
    /// From here on, what a feed tells whenever it differs from the snapshot that was just sent.
    Watch(Arc<Feed>, Value),
    /// A response, and from there on what changes in the list of sessions.
    WatchList(ListWatch, String),
    /// No more updates of the session.
    Leave(Arc<Session>),
    /// A question whether the other end is still there.
    Ping,
    /// The end.
    Close(Closing),
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

/// Why sending stops: with a last word, or because the socket is over.
type End = Option<Closing>;

impl<D: Dialect> Sender<D> {
    /// Sends until the connection ends.
    pub(crate) async fn run(self, mut orders: Orders) -> Remains {
        let mut pump = Pump {
            sender: self,
            wake: Wake::default(),
            follows: Vec::new(),
            waiting: Vec::new(),
            inspected: None,
            watches: Vec::new(),
            list: None,
            next_ping: Instant::now() + PING_EVERY,
            pulse: Pulse::default(),
            looked: Instant::now(),
            unflushed: false,
        };
        let closing = match pump.run(&mut orders).await {
            Ok(never) => match never {},
            Err(end) => end,
        };
        Remains { sink: pump.sender.sink, follows: pump.follows, closing }
    }
}

/// A response that waits for update `seq` of a session.
struct Waiting {
    session: Arc<Session>,
    seq: u64,
    text: String,
    /// Kept until it is sent.
    _room: Option<OwnedSemaphorePermit>,
}

struct Pump<D> {
    sender: Sender<D>,
    wake: Wake,
    follows: Vec<Follow>,
    waiting: Vec<Waiting>,
    inspected: Option<u64>,
    watches: Vec<Watch>,
    list: Option<ListWatch>,
    next_ping: Instant,
    pulse: Pulse,
    /// When the logs were looked at last.
    looked: Instant,
    /// Something lies in the buffer of the socket.
    unflushed: bool,
}

impl<D: Dialect> Pump<D> {
    /// Nothing is dropped halfway: every branch of the waiting either takes an order or only wakes up.
    async fn run(&mut self, orders: &mut Orders) -> Result<Infallible, End> {
        let (closing, hangup) = (self.sender.closing.clone(), self.sender.hangup.clone());
        loop {
            while let Some(order) = orders.try_recv() {
                self.obey(order).await?;
            }
            if hangup.is_cancelled() {
                return Err(None);
            }
            if Instant::now() >= self.next_ping {
                self.ping().await?;
            }
            let progress = self.pump().await?;
            self.flush().await?;
            if progress {
                continue;
            }
            if closing.is_cancelled() {
                return Err(Some(Closing::going_away()));
            }
            let list = self.list.as_ref().and_then(ListWatch::due);
            let due = self.watches.iter().filter_map(Watch::due).chain(list).min();
            let next = due.map_or(self.next_ping, |due| due.min(self.next_ping));
            let order = tokio::select! {
                order = orders.recv() => order,
                () = self.wake.notified() => {
                    self.pause().await;
                    None
                }
                () = sleep_until(next) => None,
                () = closing.cancelled() => None,
                () = hangup.cancelled() => None,
            };
            if let Some(order) = order {
                self.obey(order).await?;
            }
        }
    }

    /// Waits until enough has come together, when many are woken by the same.
    async fn pause(&self) {
        let readers = self.follows.iter().map(|follow| follow.session.readers()).max().unwrap_or_default();
        let pause = PAUSE.saturating_mul(readers.saturating_sub(READERS)).min(LONGEST_PAUSE);
        sleep_until(self.looked + pause).await;
    }

    async fn obey(&mut self, Order { out, room }: Order) -> Result<(), End> {
        match out {
            Out::Text(text) => self.write(text).await,
            Out::Unrecorded(text) => self.send(text.into()).await,
            Out::Follow { session, from, queue, answer } => {
                self.follow(session, from, queue).await?;
                match answer {
                    Some(text) => self.write(text).await,
                    None => Ok(()),
                }
            }
            Out::Join { session, since } => self.join(session, since).await,
            Out::After { session, seq, text } => {
                self.waiting.push(Waiting { session, seq, text, _room: room });
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
            Out::WatchList(list, answer) => {
                list.wake(&self.wake);
                self.list = Some(list);
                self.write(answer).await
            }
            Out::Leave(session) => {
                self.follows.retain(|follow| !Arc::ptr_eq(&follow.session, &session));
                Ok(())
            }
            Out::Ping => {
                self.pass(Message::Ping(Default::default())).await?;
                self.flush().await
            }
            Out::Close(closing) => Err(Some(closing)),
        }
    }

    /// Sends at most one page of each session. Returns whether there was anything.
    async fn pump(&mut self) -> Result<bool, End> {
        self.looked = Instant::now();
        let mut progress = false;
        for index in 0..self.follows.len() {
            progress |= self.advance(index).await?;
        }
        self.end_deleted().await?;
        self.answer().await?;
        if let Some(news) = self.list.as_mut().and_then(ListWatch::news)
            && let Some(text) = self.sender.dialect.sessions(&news)
        {
            self.write(text).await?;
        }
        // What may not be asked for any more is not told any more.
        let scope = self.sender.dialect.scope();
        self.watches.retain(|watch| watch.needed() <= scope);
        for index in 0..self.watches.len() {
            if let Some(text) = self.watches.get_mut(index).and_then(Watch::news) {
                self.write(text).await?;
            }
        }
        Ok(progress | self.show_frames().await?)
    }

    async fn show_frames(&mut self) -> Result<bool, End> {
        if self.sender.dialect.scope() < Scope::Admin {
            self.inspected = None;
        }
        let Some(since) = self.inspected else { return Ok(false) };
        let frames = self.sender.inspector.after(since, PAGE);
        for frame in &frames {
            let text = rpc::notification("_openagents/frame", &frame.to_wire());
            self.send(text.into()).await?;
            self.inspected = Some(frame.number());
        }
        Ok(!frames.is_empty())
    }
}
