//! The sending half of a connection: answers in order, and the updates of followed sessions.
//!
//! Sessions do not push. The outbox has a position in each log and reads at the socket's pace. No update queue can
//! overflow, so a slow client costs no memory and need not be disconnected, and no update is lost, duplicated or
//! reordered. Catching up and live updates are the same: the session has the last updates in memory, the store all of
//! them. Only a client that reads nothing at all is disconnected.

pub(crate) mod dialect;
pub(crate) mod following;
pub(crate) mod orders;
pub(crate) mod writing;

pub(crate) use dialect::Dialect;
pub(crate) use following::{Follow, From, PAGE};
pub(crate) use orders::{Orders, queue};

use crate::{
    base::feed::{Feed, Watch},
    base::rpc,
    base::scope::Scope,
    connection::inspect::{Inspector, Line},
    connection::{closing::Closing, socket::Socket},
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
use writing::{Liveness, PING_EVERY};

/// Readers of a session that are woken for every update. With more readers, each waits longer between two passes, up
/// to [`LONGEST_PAUSE`], and then sends everything at once.
const READERS: u32 = 16;
/// Added to the pause by each reader beyond [`READERS`].
const PAUSE: Duration = Duration::from_micros(60);
const LONGEST_PAUSE: Duration = Duration::from_millis(15);

/// An order to the sending half.
#[derive(Debug)]
pub(crate) enum Out {
    /// A response.
    Text(String),
    /// A response hidden from the inspector, because it is about the inspector.
    Unrecorded(String),
    /// Follow a session after sending a response. Updates from an earlier follow are sent before the response. `queue`
    /// is the queue change that the response reports.
    Follow { session: Arc<Session>, from: From, queue: Option<u64>, answer: Option<String> },
    /// Follow a session after `since`, unless it is followed already.
    Join { session: Arc<Session>, since: u64 },
    /// A response to send after update `seq` of the session.
    After { session: Arc<Session>, seq: u64, text: String },
    /// Send every frame of every connection after number `since`.
    Inspect { since: u64 },
    /// Watch a feed; the value is the snapshot that was just sent.
    Watch(Arc<Feed>, Value),
    /// Watch the list of sessions after sending a response.
    WatchList(ListWatch, String),
    /// Stop following the session.
    Leave(Arc<Session>),
    /// Ping the peer.
    Ping,
    /// Close the connection.
    Close(Closing),
}

/// The state of the sending half.
pub(crate) struct Sender<D> {
    pub(crate) sink: SplitSink<Socket, Message>,
    pub(crate) dialect: D,
    pub(crate) line: Arc<Line>,
    pub(crate) inspector: Arc<Inspector>,
    /// Set by the receiving half whenever a frame arrives.
    pub(crate) heard: Arc<AtomicBool>,
    /// Write timeout of a frame; ends the connection.
    pub(crate) stuck: Duration,
    /// Cancelled when the receiving half has ended.
    pub(crate) hangup: CancellationToken,
    /// Cancelled when the bridge shuts down.
    pub(crate) closing: CancellationToken,
}

/// The remains of a connection after sending has stopped.
pub(crate) struct Remains {
    pub(crate) sink: SplitSink<Socket, Message>,
    pub(crate) follows: Vec<Follow>,
    /// The reason to close the socket with; `None` if it has ended.
    pub(crate) closing: Option<Closing>,
}

/// The end of sending: a close reason, or `None` if the socket has ended.
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
            liveness: Liveness::default(),
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
    /// Held until the response is sent.
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
    liveness: Liveness,
    /// When the logs were last read.
    looked: Instant,
    /// The socket's buffer has unflushed data.
    unflushed: bool,
}

impl<D: Dialect> Pump<D> {
    /// Runs until the connection ends. Every branch of the `select!` is cancel-safe.
    async fn run(&mut self, orders: &mut Orders) -> Result<Infallible, End> {
        let (closing, hangup) = (self.sender.closing.clone(), self.sender.hangup.clone());
        loop {
            while let Some(order) = orders.try_recv() {
                self.handle(order).await?;
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
                self.handle(order).await?;
            }
        }
    }

    /// Batches updates when a session has many readers.
    async fn pause(&self) {
        let readers = self.follows.iter().map(|follow| follow.session.readers()).max().unwrap_or_default();
        let pause = PAUSE.saturating_mul(readers.saturating_sub(READERS)).min(LONGEST_PAUSE);
        sleep_until(self.looked + pause).await;
    }

    async fn handle(&mut self, Order { out, room }: Order) -> Result<(), End> {
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
        // The client's scope may have changed.
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
