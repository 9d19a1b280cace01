//! Runs a program without input, captures its output up to a limit, and stops its whole group at the end.

use crate::limits::{Bounds, CANCEL_CHECK, CAPTURE_REST};
use crate::process::{Collected, Group};
use openagents_core::CancellationToken;
use std::{
    io,
    process::{Command, ExitStatus, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

#[derive(Debug)]
pub(crate) struct Captured {
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    /// `None` if it had to be stopped.
    pub(crate) status: Option<ExitStatus>,
}

impl Captured {
    pub(crate) fn succeeded(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }
}

pub(crate) fn capture(
    command: &mut Command,
    bounds: Bounds,
    cancel: &CancellationToken,
) -> io::Result<Captured> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let (program, streams) = Group::start(command)?;
    let stdout = streams.stdout.map(|stream| Collected::first(stream, bounds.bytes)).transpose();
    let stderr = streams.stderr.map(|stream| Collected::first(stream, bounds.bytes)).transpose();
    let status =
        if stdout.is_ok() && stderr.is_ok() { wait_for_exit(&program, bounds.time, cancel) } else { None };
    end_group(&program);
    let bytes = |all: Option<Arc<Collected>>| all.map(|all| all.bytes(CAPTURE_REST)).unwrap_or_default();
    Ok(Captured { stdout: bytes(stdout?), stderr: bytes(stderr?), status })
}

pub(crate) fn wait_for_exit(
    program: &Group,
    time: Duration,
    cancel: &CancellationToken,
) -> Option<ExitStatus> {
    let until = Instant::now() + time;
    while !cancel.is_cancelled() {
        let left = until.saturating_duration_since(Instant::now());
        match program.wait(left.min(CANCEL_CHECK)) {
            None if !left.is_zero() => {}
            status => return status,
        }
    }
    None
}

pub(crate) fn end_group(program: &Group) {
    program.kill();
    program.wait(CAPTURE_REST);
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
    fn capture_returns_both_streams_and_status() {
        let captured = run("echo out; echo err >&2; exit 3", BOUNDS);
        assert_eq!(captured.stdout, b"out\n");
        assert_eq!(captured.stderr, b"err\n");
        assert_eq!(captured.status.and_then(|status| status.code()), Some(3));
    }

    #[test]
    fn capture_stops_hanging_program_and_children() {
        let bounds = Bounds { time: Duration::from_millis(300), ..BOUNDS };
        let captured = run("sleep 1000 & echo $!; wait", bounds);
        assert_eq!(captured.status, None);
        assert_ended(&captured.stdout);
    }

    #[test]
    fn capture_stops_leftover_processes_at_once() {
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
            std::thread::sleep(CANCEL_CHECK);
        }
    }

    #[test]
    fn capture_cuts_excess_output() {
        let captured = run("yes", Bounds { bytes: 10_000, ..BOUNDS });
        assert_eq!(captured.stdout.len(), 10_000);
        assert!(!captured.succeeded());
    }

    #[test]
    fn capture_stops_on_cancel() {
        let cancel = CancellationToken::new();
        cancel.cancel();
        assert_eq!(capture(&mut shell("sleep 1000"), BOUNDS, &cancel).unwrap().status, None);
    }
}
