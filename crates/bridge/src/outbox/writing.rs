//! Writes to a socket, and finds out whether anybody reads.

use super::{Dialect, End, Pump};
use crate::transport::Closing;
use futures::SinkExt;
use std::{sync::atomic::Ordering, time::Duration};
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::{self, Message, Utf8Bytes};
use tokio_util::sync::CancellationToken;

/// The longest that a frame may take once the receiving half has ended.
const LAST_WRITE: Duration = Duration::from_secs(1);
pub(super) const PING_EVERY: Duration = Duration::from_secs(20);
/// Pings in a row that may stay without any sign of life.
const MISSES: u32 = 2;
/// What a slow reader takes between two pings: as much longer a ping is waited for that queues behind what was written.
const SLOW_READ: usize = 1 << 20;
/// More than this does not wait in the buffers of a socket.
const BUFFERED: usize = 8 << 20;

/// Whether the other end is alive, as far as this end can tell.
#[derive(Debug, Default)]
pub(super) struct Pulse {
    /// Something was written since the last ping: there was room again, so the reader takes what it is sent.
    wrote: bool,
    /// Bytes written since the last word from the other end; they may all lie before the next pong.
    ahead: usize,
    misses: u32,
}

impl Pulse {
    pub(super) fn written(&mut self, bytes: usize) {
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
    /// Writes a frame; it is on its way with the next [`Pump::flush`].
    pub(super) async fn write(&mut self, text: String) -> Result<(), End> {
        let text = Utf8Bytes::from(text);
        self.sender.inspector.record_out(&self.sender.line, std::slice::from_ref(&text));
        self.send(text).await
    }

    /// Writes frames and waits until the socket has taken all of them.
    pub(super) async fn write_page(&mut self, texts: Vec<Utf8Bytes>) -> Result<(), End> {
        self.sender.inspector.record_out(&self.sender.line, &texts);
        for text in texts {
            self.send(text).await?;
        }
        self.flush().await
    }

    pub(super) async fn ping(&mut self) -> Result<(), End> {
        if !self.pulse.beats(self.sender.heard.swap(false, Ordering::Relaxed)) {
            return Err(None);
        }
        self.next_ping = Instant::now() + PING_EVERY;
        // No sign of life: a ping always finds room in the buffer of an idle socket, dead or alive.
        self.pass(Message::Ping(Default::default())).await?;
        self.flush().await
    }

    pub(super) async fn send(&mut self, text: Utf8Bytes) -> Result<(), End> {
        let bytes = text.len();
        self.pass(Message::Text(text)).await?;
        self.pulse.written(bytes);
        Ok(())
    }

    pub(super) async fn pass(&mut self, message: Message) -> Result<(), End> {
        self.unflushed = true;
        let taken = take(&self.sender.hangup, self.sender.stuck, self.sender.sink.feed(message)).await;
        taken.map_err(|late| self.stuck(late))
    }

    pub(super) async fn flush(&mut self) -> Result<(), End> {
        if !std::mem::take(&mut self.unflushed) {
            return Ok(());
        }
        let taken = take(&self.sender.hangup, self.sender.stuck, self.sender.sink.flush()).await;
        taken.map_err(|late| self.stuck(late))
    }

    /// Where a client that comes back has to go on. It may hear that, if it begins to read in the last moment.
    fn stuck(&self, late: Late) -> End {
        let written = self.follows.iter().map(|follow| follow.written).min().unwrap_or_default();
        match late {
            Late::Stuck => Some(Closing::too_slow(written)),
            Late::Gone => None,
        }
    }
}

/// Why a socket did not take what it was given.
enum Late {
    /// It took nothing for too long.
    Stuck,
    /// It is over.
    Gone,
}

async fn take(
    hangup: &CancellationToken,
    patience: Duration,
    taking: impl Future<Output = Result<(), tungstenite::Error>>,
) -> Result<(), Late> {
    // Nothing more comes from the other end, which may be dead: what it takes it takes soon.
    let given_up = async {
        hangup.cancelled().await;
        tokio::time::sleep(LAST_WRITE).await;
    };
    tokio::select! {
        biased;
        taken = tokio::time::timeout(patience, taking) => match taken {
            Ok(taken) => taken.map_err(|_| Late::Gone),
            Err(_) => Err(Late::Stuck),
        },
        () = given_up => Err(Late::Gone),
    }
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
