//! Writes to a socket, and detects dead peers.

use crate::connection::closing::Closing;
use crate::{
    connection::outbox::dialect::Dialect,
    connection::outbox::{End, Pump},
};
use futures::SinkExt;
use std::{sync::atomic::Ordering, time::Duration};
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::{self, Message, Utf8Bytes};
use tokio_util::sync::CancellationToken;

/// Write timeout once the receiving half has ended.
const LAST_WRITE: Duration = Duration::from_secs(1);
pub(super) const PING_EVERY: Duration = Duration::from_secs(20);
/// Consecutive pings without any response before the peer counts as dead.
const MISSES: u32 = 2;
/// Bytes that a slow reader takes between two pings. A ping that queues behind more data gets more time.
const SLOW_READ: usize = 1 << 20;
/// Upper bound of the data in a socket's buffers, in bytes.
const BUFFERED: usize = 8 << 20;

/// Detects whether the peer is alive.
#[derive(Debug, Default)]
pub(super) struct Liveness {
    /// A write succeeded since the last ping, so the peer is reading.
    wrote: bool,
    /// Bytes written since the peer was last heard; the next pong may wait behind all of them.
    ahead: usize,
    misses: u32,
}

impl Liveness {
    pub(super) fn written(&mut self, bytes: usize) {
        self.wrote = true;
        self.ahead = self.ahead.saturating_add(bytes).min(BUFFERED);
    }

    /// Called before each ping. Returns whether the peer still counts as alive.
    fn is_alive(&mut self, heard: bool) -> bool {
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
        let written = self.follows.iter().map(|follow| follow.written).min().unwrap_or_default();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_reader_is_not_disconnected() {
        let mut liveness = Liveness::default();
        for _ in 0..1000 {
            liveness.written(256 << 10);
            assert!(liveness.is_alive(false));
        }
        // The backlog is written, but most of it is still buffered, with the pings behind it.
        for _ in 0..5 {
            assert!(liveness.is_alive(false));
        }
        assert!(liveness.is_alive(true));
    }

    #[test]
    fn a_dead_reader_is_disconnected() {
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
