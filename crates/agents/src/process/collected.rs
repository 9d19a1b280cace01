//! Collects the end of a stream on a separate thread.

use super::tail::Tail;
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::{
    io::{self, Read},
    sync::Arc,
    thread,
    time::Duration,
};

/// The last bytes of a stream so far.
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
    pub(crate) fn of(mut stream: impl Read + Send + 'static, limit: usize) -> io::Result<Arc<Self>> {
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
        Self::of(stream.take(limit as u64), limit)
    }

    /// Returns the text once the stream has ended or `limit` has passed. The stream ends after its program exits.
    pub(crate) fn text(&self, limit: Duration) -> String {
        self.wait(limit).tail.text()
    }

    /// Returns the bytes once the stream has ended or `limit` has passed.
    pub(crate) fn bytes(&self, limit: Duration) -> Vec<u8> {
        self.wait(limit).tail.bytes()
    }

    fn wait(&self, limit: Duration) -> MutexGuard<'_, State> {
        let mut state = self.state.lock();
        self.ended.wait_while_for(&mut state, |state| !state.is_all, limit);
        state
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn text_waits_for_the_end_of_the_stream() {
        let (stream, mut program) = io::pipe().unwrap();
        let words = Collected::of(stream, 4).unwrap();
        assert_eq!(words.text(Duration::ZERO), "");
        thread::spawn(move || program.write_all(b"first and last"));
        assert_eq!(words.text(Duration::from_secs(60)), "last");
    }
}
