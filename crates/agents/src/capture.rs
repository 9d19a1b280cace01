//! Runs a program and captures its output. The program gets no input, its output is bounded, and its whole group is
//! stopped at the end.

use crate::process::Group;
use openagents_core::CancellationToken;
use parking_lot::{Condvar, Mutex};
use std::{
    io::{self, Read},
    process::{Command, ExitStatus, Stdio},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

/// Interval of checks for exit and cancel.
const POLL: Duration = Duration::from_millis(20);

/// Time to read the rest of the output of a program that has exited: a process it left behind may hold its streams
/// open.
const LAST_WORDS: Duration = Duration::from_millis(300);

/// Limits of a captured program.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// Run time; then it is stopped.
    pub(crate) time: Duration,
    /// Maximum bytes of each stream; the rest is not read.
    pub(crate) bytes: usize,
}

/// The output and exit status of a program.
#[derive(Debug)]
pub(crate) struct Captured {
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    /// `None` if it had to be stopped.
    pub(crate) status: Option<ExitStatus>,
}

impl Captured {
    /// Returns whether it exited by itself with success.
    pub(crate) fn succeeded(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }
}

/// Runs a program until it exits, or stops it.
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

/// Waits for a program to exit.
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

/// Stops a program and its children.
pub(crate) fn end(program: &Group) {
    program.kill();
    program.wait(LAST_WORDS);
}

/// Output of a stream so far.
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
    /// Reads up to `limit` bytes of a stream on a separate thread.
    pub(crate) fn from(mut stream: impl Read + Send + 'static, limit: usize) -> Arc<Self> {
        let gathered = Arc::new(Self::default());
        let reader = gathered.clone();
        let started = thread::Builder::new().name("program-output".to_owned()).spawn(move || {
            let mut piece = [0; 4096];
            loop {
                let read = stream.read(&mut piece).unwrap_or_default();
                let mut state = reader.state.lock();
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
            gathered.state.lock().ended = true;
        }
        gathered
    }

    /// Returns the output once the stream has ended or the time is over.
    pub(crate) fn take(&self, time: Duration) -> Vec<u8> {
        let mut state = self.state.lock();
        self.changed.wait_while_for(&mut state, |state| !state.ended, time);
        std::mem::take(&mut state.read)
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
    fn a_hanging_program_is_stopped_with_its_children() {
        let bounds = Bounds { time: Duration::from_millis(300), ..BOUNDS };
        let captured = run("sleep 1000 & echo $!; wait", bounds);
        assert_eq!(captured.status, None);
        assert_ended(&captured.stdout);
    }

    #[test]
    fn leftover_processes_are_stopped_without_delay() {
        let captured = run("sleep 1000 & echo $!", BOUNDS);
        assert!(captured.succeeded());
        assert_ended(&captured.stdout);
    }

    /// A stopped process may still have to be reaped by its new parent.
    fn assert_ended(id: &[u8]) {
        let id = String::from_utf8_lossy(id).trim().to_owned();
        let started = Instant::now();
        let runs = || {
            let state = run(&format!("ps -o stat= -p {id}"), BOUNDS).stdout;
            !state.is_empty() && !state.starts_with(b"Z")
        };
        while runs() {
            assert!(started.elapsed() < Duration::from_secs(60), "{id} still runs");
            thread::sleep(POLL);
        }
    }

    #[test]
    fn excess_output_is_cut() {
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
