//! Runs a program for what it prints. It gets no input, cannot flood us, and nothing of it stays.

use crate::process::Group;
use openagents_core::CancellationToken;
use std::{
    io::{self, Read},
    process::{Command, ExitStatus, Stdio},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

/// How soon an end or a cancel is noticed.
const POLL: Duration = Duration::from_millis(20);

/// How long the last words of a program that has ended are waited for: another that it left behind may hold its
/// streams open.
const LAST_WORDS: Duration = Duration::from_millis(300);

/// What a program may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// Until it is ended.
    pub(crate) time: Duration,
    /// Bytes of each stream; what comes after them is not read.
    pub(crate) bytes: usize,
}

/// What a program printed, and how it ended.
#[derive(Debug)]
pub(crate) struct Captured {
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    /// `None` for one that had to be ended.
    pub(crate) status: Option<ExitStatus>,
}

impl Captured {
    /// Returns whether it ended well by itself.
    pub(crate) fn succeeded(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }
}

/// Runs a program to its end, or ends it.
pub(crate) fn capture(
    command: &mut Command,
    bounds: Bounds,
    cancel: &CancellationToken,
) -> io::Result<Captured> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let (program, streams) = Group::start(command)?;
    let stdout = streams.stdout.map(|stream| Gathered::from(stream, bounds.bytes));
    let stderr = streams.stderr.map(|stream| Gathered::from(stream, bounds.bytes));
    let status = wait(&program, bounds.time, cancel);
    end(&program);
    let text = |gathered: Option<Arc<Gathered>>| gathered.map(|all| all.take(LAST_WORDS)).unwrap_or_default();
    Ok(Captured { stdout: text(stdout), stderr: text(stderr), status })
}

/// Waits for a program's end.
pub(crate) fn wait(program: &Group, time: Duration, cancel: &CancellationToken) -> Option<ExitStatus> {
    let until = Instant::now() + time;
    while !cancel.is_cancelled() {
        let left = until.saturating_duration_since(Instant::now());
        match program.wait(left.min(POLL)) {
            None if !left.is_zero() => {}
            status => return status,
        }
    }
    None
}

/// Ends a program and all that it started.
pub(crate) fn end(program: &Group) {
    program.kill();
    program.wait(LAST_WORDS);
}

/// What a stream has given so far.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    state: Mutex<Bytes>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Bytes {
    read: Vec<u8>,
    ended: bool,
}

impl Gathered {
    /// Reads a stream on a thread of its own, `limit` bytes of it.
    pub(crate) fn from(mut stream: impl Read + Send + 'static, limit: usize) -> Arc<Self> {
        let gathered = Arc::new(Self::default());
        let reader = gathered.clone();
        let started = thread::Builder::new().name("program-output".to_owned()).spawn(move || {
            let mut piece = [0; 4096];
            loop {
                let read = stream.read(&mut piece).unwrap_or_default();
                let mut state = reader.lock();
                let room = limit - state.read.len();
                state.read.extend_from_slice(&piece[..read.min(room)]);
                state.ended = read == 0 || read >= room;
                reader.changed.notify_all();
                if state.ended {
                    return;
                }
            }
        });
        if started.is_err() {
            gathered.lock().ended = true;
        }
        gathered
    }

    /// Takes what there is once the stream has ended, or the time is over.
    pub(crate) fn take(&self, time: Duration) -> Vec<u8> {
        let waited = self.changed.wait_timeout_while(self.lock(), time, |state| !state.ended);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut state.read)
    }

    fn lock(&self) -> MutexGuard<'_, Bytes> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds = Bounds { time: Duration::from_secs(60), bytes: 1 << 16 };

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    fn run(script: &str, bounds: Bounds) -> Captured {
        capture(&mut shell(script), bounds, &CancellationToken::new()).unwrap()
    }

    #[test]
    fn both_streams_and_the_end_are_told() {
        let captured = run("echo out; echo err >&2; exit 3", BOUNDS);
        assert_eq!(captured.stdout, b"out\n");
        assert_eq!(captured.stderr, b"err\n");
        assert_eq!(captured.status.and_then(|status| status.code()), Some(3));
    }

    #[test]
    fn one_that_does_not_end_is_ended_with_what_it_started() {
        let bounds = Bounds { time: Duration::from_millis(300), ..BOUNDS };
        let captured = run("sleep 1000 & echo $!; wait", bounds);
        assert_eq!(captured.status, None);
        assert_ended(&captured.stdout);
    }

    #[test]
    fn what_a_program_leaves_behind_is_ended_and_does_not_hold_us_up() {
        let captured = run("sleep 1000 & echo $!", BOUNDS);
        assert!(captured.succeeded());
        assert_ended(&captured.stdout);
    }

    /// A process that was ended may still have to be reaped by whoever is its parent now.
    fn assert_ended(id: &[u8]) {
        let id = String::from_utf8_lossy(id).trim().to_owned();
        let started = Instant::now();
        let runs = || {
            let state = run(&format!("ps -o stat= -p {id}"), BOUNDS).stdout;
            !state.is_empty() && !state.starts_with(b"Z")
        };
        while runs() {
            assert!(started.elapsed() < Duration::from_secs(60), "{id} goes on");
            thread::sleep(POLL);
        }
    }

    #[test]
    fn a_flood_is_cut() {
        let captured = run("yes", Bounds { bytes: 10_000, ..BOUNDS });
        assert_eq!(captured.stdout.len(), 10_000);
        assert!(!captured.succeeded());
    }

    #[test]
    fn a_cancel_ends_it() {
        let cancel = CancellationToken::new();
        cancel.cancel();
        assert_eq!(capture(&mut shell("sleep 1000"), BOUNDS, &cancel).unwrap().status, None);
    }
}
