//! Detects dead peers.

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
    fn a_slow_reader_is_not_disconnected() {
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
