//! The sending half: first the queued orders, then the updates of followed sessions, feeds and lists.

use super::dialect::{Dialect, Order, Orders, Out};
use crate::{
    feed::Watch,
    inspect::{Inspector, Peer},
    mailbox::Closing,
    rpc,
    socket::Socket,
};
use futures::{SinkExt, stream::SplitSink};
use openagents_sessions::{Folding, ListWatch, Session, StoredLog, Wake};
use openagents_wire::{Scope, methods};
use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::{
    sync::OwnedSemaphorePermit,
    time::{Instant, sleep_until},
};
use tokio_tungstenite::tungstenite::{self, Message, Utf8Bytes};
use tokio_util::sync::CancellationToken;

pub const PAGE: usize = 64;
/// Up to this many readers of a session are woken for every update. With more readers, each waits longer
/// between two passes, up to [`LONGEST_PAUSE`], and then sends everything at once.
const READERS: u32 = 16;
/// Added to the pause by each reader beyond [`READERS`].
const PAUSE: Duration = Duration::from_micros(60);
const LONGEST_PAUSE: Duration = Duration::from_millis(15);

/// Write timeout once the receiving half has ended.
const LAST_WRITE: Duration = Duration::from_secs(1);
const PING_EVERY: Duration = Duration::from_secs(20);

pub(crate) struct Sender<D> {
    pub(crate) sink: SplitSink<Socket, Message>,
    pub(crate) dialect: D,
    pub(crate) peer: Arc<Peer>,
    pub(crate) inspector: Arc<Inspector>,
    /// Set by the receiving half whenever a frame arrives.
    pub(crate) heard: Arc<AtomicBool>,
    /// Write timeout of a frame; ends the connection.
    pub(crate) stuck: Duration,
    pub(crate) hangup: CancellationToken,
    pub(crate) closing: CancellationToken,
}

pub(crate) struct Remains {
    pub(crate) sink: SplitSink<Socket, Message>,
    /// The reason to close the socket with; `None` if it has ended.
    pub(crate) closing: Option<Closing>,
}

/// The end of sending: a close reason, or `None` if the socket has ended.
pub(super) type End = Option<Closing>;

/// A response that waits for update `seq` of a session.
pub(super) struct Waiting {
    pub(super) session: Arc<Session>,
    pub(super) seq: u64,
    pub(super) text: String,
    pub(super) _room: Option<OwnedSemaphorePermit>,
}

pub(super) struct Pump<D> {
    pub(super) sender: Sender<D>,
    pub(super) wake: Wake,
    pub(super) follows: Vec<Follow>,
    pub(super) waiting: Vec<Waiting>,
    pub(super) inspected: Option<u64>,
    pub(super) watches: Vec<Watch>,
    pub(super) list: Option<ListWatch>,
    pub(super) next_ping: Instant,
    pub(super) liveness: Liveness,
    pub(super) last_pass: Instant,
    pub(super) unflushed: bool,
}

#[derive(Debug)]
pub(super) struct Follow {
    pub(super) session: Arc<Session>,
    /// The last update that was read from the log and written to the client.
    pub(super) read: u64,
    /// The folded log, sent before the updates after `read`.
    pub(super) folding: Option<Box<Folding<StoredLog>>>,
    pub(super) rested: bool,
    /// The number of the last failure that was sent.
    pub(super) failure: u64,
    /// The last changes that were sent.
    pub(super) activity: u64,
    pub(super) approvals: u64,
    /// The last queue change that was sent; `None` to send the current one.
    pub(super) queue: Option<u64>,
}

impl Follow {
    /// Returns the number of the last update that was sent, folded or not.
    pub(super) fn reached(&self) -> u64 {
        if self.folding.is_some() { 0 } else { self.read }
    }
}

impl<D: Dialect> Sender<D> {
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
            last_pass: Instant::now(),
            unflushed: false,
        };
        let closing = match pump.run(&mut orders).await {
            Ok(never) => match never {},
            Err(end) => end,
        };
        Remains { sink: pump.sender.sink, closing }
    }
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
        sleep_until(self.last_pass + pause).await;
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
                match since {
                    Some(_) => self.sender.inspector.watch(&self.wake),
                    None => self.sender.inspector.leave(&self.wake),
                }
                self.inspected = since;
                Ok(())
            }
            Out::Watch(feed, sent) => {
                self.watches.retain(|watch| !watch.is_of(&feed));
                self.watches.push(Watch::begin(feed, sent, &self.wake));
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

    /// Sends at most one page of each session. Returns whether anything was sent.
    async fn pump(&mut self) -> Result<bool, End> {
        self.last_pass = Instant::now();
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
            if let Some(text) = self.watches.get_mut(index).and_then(|watch| watch.news(scope)) {
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
            let text = rpc::event::<methods::FrameSeen>(&frame.to_wire());
            self.send(text.into()).await?;
            self.inspected = Some(frame.number());
        }
        Ok(!frames.is_empty())
    }

    /// Writes a frame; [`Pump::flush`] sends it.
    pub(super) async fn write(&mut self, text: String) -> Result<(), End> {
        let text = Utf8Bytes::from(text);
        self.sender.inspector.record_out(&self.sender.peer, std::slice::from_ref(&text));
        self.send(text).await
    }

    pub(super) async fn write_page(&mut self, texts: Vec<Utf8Bytes>) -> Result<(), End> {
        self.sender.inspector.record_out(&self.sender.peer, &texts);
        for text in texts {
            self.send(text).await?;
        }
        self.flush().await
    }

    pub(super) async fn ping(&mut self) -> Result<(), End> {
        if !self.liveness.is_alive(self.sender.heard.swap(false, Ordering::Relaxed)) {
            return Err(None);
        }
        self.next_ping = Instant::now() + PING_EVERY;
        // Does not count as written: an idle socket's buffer accepts a ping whether the peer is dead or alive.
        self.pass(Message::Ping(Default::default())).await?;
        self.flush().await
    }

    pub(super) async fn send(&mut self, text: Utf8Bytes) -> Result<(), End> {
        let bytes = text.len();
        self.pass(Message::Text(text)).await?;
        self.liveness.written(bytes);
        Ok(())
    }

    pub(super) async fn pass(&mut self, message: Message) -> Result<(), End> {
        self.unflushed = true;
        let taken =
            with_timeout(&self.sender.hangup, self.sender.stuck, self.sender.sink.feed(message)).await;
        taken.map_err(|failure| self.stuck(failure))
    }

    pub(super) async fn flush(&mut self) -> Result<(), End> {
        if !std::mem::take(&mut self.unflushed) {
            return Ok(());
        }
        let taken = with_timeout(&self.sender.hangup, self.sender.stuck, self.sender.sink.flush()).await;
        taken.map_err(|failure| self.stuck(failure))
    }

    /// Returns the close reason for a stuck socket, with the update from which a reconnecting client continues.
    fn stuck(&self, failure: WriteFailure) -> End {
        let written = self.follows.iter().map(|follow| follow.read).min().unwrap_or_default();
        match failure {
            WriteFailure::Stuck => Some(Closing::too_slow(written)),
            WriteFailure::Gone => None,
        }
    }
}

enum WriteFailure {
    Stuck,
    Gone,
}

async fn with_timeout(
    hangup: &CancellationToken,
    patience: Duration,
    writing: impl Future<Output = Result<(), tungstenite::Error>>,
) -> Result<(), WriteFailure> {
    // The receiving half has ended and the peer may be dead: allow little time.
    let given_up = async {
        hangup.cancelled().await;
        tokio::time::sleep(LAST_WRITE).await;
    };
    tokio::select! {
        biased;
        taken = tokio::time::timeout(patience, writing) => match taken {
            Ok(taken) => taken.map_err(|_| WriteFailure::Gone),
            Err(_) => Err(WriteFailure::Stuck),
        },
        () = given_up => Err(WriteFailure::Gone),
    }
}

/// Consecutive pings without any response before the peer counts as dead.
const MISSES: u32 = 2;
/// Bytes that a slow reader takes between two pings. A ping that queues behind more data gets more time.
const SLOW_READ: usize = 1 << 20;
/// Upper bound of the data in a socket's buffers, in bytes.
const BUFFERED: usize = 8 << 20;

#[derive(Debug, Default)]
pub(super) struct Liveness {
    /// A write succeeded since the last ping, so the peer is reading.
    wrote: bool,
    /// Bytes written since the peer was last heard; the next pong may be queued behind all of them.
    ahead: usize,
    misses: u32,
}

impl Liveness {
    pub(super) fn written(&mut self, bytes: usize) {
        self.wrote = true;
        self.ahead = self.ahead.saturating_add(bytes).min(BUFFERED);
    }

    /// Called before each ping. Returns whether the peer still counts as alive.
    pub(super) fn is_alive(&mut self, heard: bool) -> bool {
        if heard {
            self.ahead = 0;
        }
        let alive = std::mem::take(&mut self.wrote) || heard;
        self.misses = if alive { 0 } else { self.misses + 1 };
        let patience = u32::try_from(self.ahead / SLOW_READ).unwrap_or(u32::MAX);
        self.misses < MISSES.saturating_add(patience)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_reader_stays_connected() {
        let mut liveness = Liveness::default();
        for _ in 0..1000 {
            liveness.written(256 << 10);
            assert!(liveness.is_alive(false));
        }
        // The backlog is written, but most of it is still buffered, and the pings are queued behind it.
        for _ in 0..5 {
            assert!(liveness.is_alive(false));
        }
        assert!(liveness.is_alive(true));
    }

    #[test]
    fn dead_reader_is_disconnected() {
        let mut liveness = Liveness::default();
        assert!(liveness.is_alive(true) && liveness.is_alive(false));
        assert!(!liveness.is_alive(false));
        // A small write does not extend the timeout of a dead peer.
        let mut liveness = Liveness::default();
        liveness.written(1000);
        assert!(liveness.is_alive(false) && liveness.is_alive(false));
        assert!(!liveness.is_alive(false));
        let mut liveness = Liveness::default();
        liveness.written(usize::MAX);
        assert!((0..20).any(|_| !liveness.is_alive(false)));
    }
}
