//! The end of a program's standard error.

use super::tail::Tail;
use parking_lot::{Condvar, Mutex};
use std::{
    io::{self, Read},
    sync::Arc,
    thread,
    time::Duration,
};

/// The end of a standard error stream, read on a separate thread.
#[derive(Debug)]
pub(crate) struct LastWords {
    heard: Mutex<Heard>,
    ended: Condvar,
}

#[derive(Debug)]
struct Heard {
    tail: Tail,
    is_all: bool,
}

impl LastWords {
    /// Reads a stream to its end and keeps its last bytes.
    pub(crate) fn of(mut stream: impl Read + Send + 'static, limit: usize) -> io::Result<Arc<Self>> {
        let heard = Mutex::new(Heard { tail: Tail::new(limit), is_all: false });
        let words = Arc::new(Self { heard, ended: Condvar::new() });
        let kept = words.clone();
        let listen = move || {
            let mut piece = [0; 4 << 10];
            while let Ok(read @ 1..) = stream.read(&mut piece) {
                kept.heard.lock().tail.push(&piece[..read]);
            }
            kept.heard.lock().is_all = true;
            kept.ended.notify_all();
        };
        thread::Builder::new().name("agent stderr".to_owned()).spawn(listen)?;
        Ok(words)
    }

    /// Returns the text once the stream has ended or the time is over. The exit of a program is noticed before the rest
    /// of its output is read.
    pub(crate) fn text(&self, limit: Duration) -> String {
        let mut heard = self.heard.lock();
        self.ended.wait_while_for(&mut heard, |heard| !heard.is_all, limit);
        heard.tail.text()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn text_waits_for_the_end_of_the_stream() {
        let (stream, mut program) = io::pipe().unwrap();
        let words = LastWords::of(stream, 4).unwrap();
        assert_eq!(words.text(Duration::ZERO), "");
        thread::spawn(move || program.write_all(b"first and last"));
        assert_eq!(words.text(Duration::from_secs(60)), "last");
    }
}
