//! Collects the end of a stream on a separate thread.

use parking_lot::{Condvar, Mutex, MutexGuard};
use std::{
    collections::VecDeque,
    io::{self, Read},
    sync::Arc,
    thread,
    time::Duration,
};

#[derive(Debug)]
pub(crate) struct Collected {
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Debug)]
struct State {
    tail: Tail,
    is_all: bool,
}

impl Collected {
    /// Reads a stream to its end and keeps its last bytes.
    pub(crate) fn last(mut stream: impl Read + Send + 'static, limit: usize) -> io::Result<Arc<Self>> {
        let state = Mutex::new(State { tail: Tail::new(limit), is_all: false });
        let collected = Arc::new(Self { state, ended: Condvar::new() });
        let kept = collected.clone();
        let read = move || {
            let mut piece = [0; 4 << 10];
            while let Ok(read @ 1..) = stream.read(&mut piece) {
                kept.state.lock().tail.push(&piece[..read]);
            }
            kept.state.lock().is_all = true;
            kept.ended.notify_all();
        };
        thread::Builder::new().name("agent output".to_owned()).spawn(read)?;
        Ok(collected)
    }

    /// Reads up to `limit` bytes of a stream.
    pub(crate) fn first(stream: impl Read + Send + 'static, limit: usize) -> io::Result<Arc<Self>> {
        Self::last(stream.take(limit as u64), limit)
    }

    /// Returns the text once the stream has ended or `limit` has passed. The stream ends after its program exits.
    pub(crate) fn text(&self, limit: Duration) -> String {
        self.wait(limit).tail.text()
    }

    pub(crate) fn bytes(&self, limit: Duration) -> Vec<u8> {
        self.wait(limit).tail.bytes()
    }

    fn wait(&self, limit: Duration) -> MutexGuard<'_, State> {
        let mut state = self.state.lock();
        self.ended.wait_while_for(&mut state, |state| !state.is_all, limit);
        state
    }
}

/// Keeps the last bytes of a stream.
#[derive(Debug)]
pub(crate) struct Tail {
    bytes: VecDeque<u8>,
    limit: usize,
    truncated: bool,
}

impl Tail {
    pub(crate) fn new(limit: usize) -> Self {
        Self { bytes: VecDeque::new(), limit, truncated: false }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let kept = &bytes[bytes.len().saturating_sub(self.limit)..];
        self.bytes.extend(kept);
        let over = self.bytes.len().saturating_sub(self.limit);
        self.truncated |= over > 0 || kept.len() < bytes.len();
        self.bytes.drain(..over);
    }

    pub(crate) fn is_truncated(&self) -> bool {
        self.truncated
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let (front, back) = self.bytes.as_slices();
        [front, back].concat()
    }

    /// Returns the text starting at a character boundary, never longer than the limit.
    pub(crate) fn text(&self) -> String {
        let mut bytes = self.bytes();
        if self.truncated {
            let cut = bytes.iter().take(3).take_while(|byte| **byte & 0xC0 == 0x80).count();
            bytes.drain(..cut);
        }
        let mut text = String::from_utf8_lossy(&bytes).into_owned();
        // Replacement characters take more bytes than the invalid bytes.
        if text.len() > self.limit {
            let from = text.ceil_char_boundary(text.len() - self.limit);
            text.drain(..from);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write as _;

    #[test]
    fn text_waits_for_end_of_stream() {
        let (stream, mut program) = io::pipe().unwrap();
        let words = Collected::last(stream, 4).unwrap();
        assert_eq!(words.text(Duration::ZERO), "");
        thread::spawn(move || program.write_all(b"first and last"));
        assert_eq!(words.text(Duration::from_secs(60)), "last");
    }

    #[test]
    fn tail_starts_at_character_boundary() {
        let rows: [(&[&[u8]], usize, &str, bool); 6] = [
            (&[b"abc"], 8, "abc", false),
            (&[b"abc", b"def"], 4, "cdef", true),
            (&["ä".as_bytes(), b"bc"], 3, "bc", true),
            (&[b"\xc3", b"\xa4"], 8, "ä", false),
            (&[b"\xff\xff\xff"], 4, "\u{fffd}", false),
            (&[b"abc"], 0, "", true),
        ];
        for (pieces, limit, text, truncated) in rows {
            let mut tail = Tail::new(limit);
            pieces.iter().for_each(|piece| tail.push(piece));
            assert_eq!((tail.text().as_str(), tail.is_truncated()), (text, truncated), "{pieces:?}");
        }
    }

    proptest! {
        #[test]
        fn tail_never_exceeds_limit(pieces: Vec<Vec<u8>>, limit in 0..64_usize) {
            let mut tail = Tail::new(limit);
            pieces.iter().for_each(|piece| tail.push(piece));
            prop_assert!(tail.text().len() <= limit && tail.len() <= limit);
        }
    }
}
