//! The state of the sending half, and its writes to the socket.

use super::{dialect::Dialect, follow::Follow, liveness::Liveness};
use crate::{
    base::feed::Watch,
    connection::{closing::Closing, inspect::Inspector, inspect::Line, socket::Socket},
};
use futures::{SinkExt, stream::SplitSink};
use openagents_sessions::{ListWatch, Session, Wake};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::{sync::OwnedSemaphorePermit, time::Instant};
use tokio_tungstenite::tungstenite::{self, Message, Utf8Bytes};
use tokio_util::sync::CancellationToken;

/// Write timeout once the receiving half has ended.
const LAST_WRITE: Duration = Duration::from_secs(1);
pub(super) const PING_EVERY: Duration = Duration::from_secs(20);

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
    /// Held until the response is sent.
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
    /// When the logs were last read.
    pub(super) looked: Instant,
    /// The socket's buffer has unflushed data.
    pub(super) unflushed: bool,
}

impl<D: Dialect> Pump<D> {
    /// Writes a frame; [`Pump::flush`] sends it.
    pub(super) async fn write(&mut self, text: String) -> Result<(), End> {
        let text = Utf8Bytes::from(text);
        self.sender.inspector.record_out(&self.sender.line, std::slice::from_ref(&text));
        self.send(text).await
    }

    /// Writes frames and flushes them.
    pub(super) async fn write_page(&mut self, texts: Vec<Utf8Bytes>) -> Result<(), End> {
        self.sender.inspector.record_out(&self.sender.line, &texts);
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
        // Does not count as written: an idle socket's buffer takes a ping whether the peer is dead or alive.
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
        let taken = take(&self.sender.hangup, self.sender.stuck, self.sender.sink.feed(message)).await;
        taken.map_err(|failure| self.stuck(failure))
    }

    pub(super) async fn flush(&mut self) -> Result<(), End> {
        if !std::mem::take(&mut self.unflushed) {
            return Ok(());
        }
        let taken = take(&self.sender.hangup, self.sender.stuck, self.sender.sink.flush()).await;
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

/// The reason why a write failed.
enum WriteFailure {
    /// The write timed out.
    Stuck,
    /// The socket has ended.
    Gone,
}

async fn take(
    hangup: &CancellationToken,
    patience: Duration,
    taking: impl Future<Output = Result<(), tungstenite::Error>>,
) -> Result<(), WriteFailure> {
    // The receiving half has ended and the peer may be dead: allow little time.
    let given_up = async {
        hangup.cancelled().await;
        tokio::time::sleep(LAST_WRITE).await;
    };
    tokio::select! {
        biased;
        taken = tokio::time::timeout(patience, taking) => match taken {
            Ok(taken) => taken.map_err(|_| WriteFailure::Gone),
            Err(_) => Err(WriteFailure::Stuck),
        },
        () = given_up => Err(WriteFailure::Gone),
    }
}
