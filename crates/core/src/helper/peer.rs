//! The helper program as its client sees it: its process, its running commands, its log and its exit.

use crate::{json_text, model::ModelError};
use futures::executor::block_on;
use parking_lot::{Condvar, Mutex, MutexGuard};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::{
    collections::{HashMap, VecDeque},
    io::{self, BufRead, BufReader, Read, Write},
    process::{Child, ChildStderr, ExitStatus},
    thread::sleep,
    time::{Duration, Instant},
};
use tokio::sync::mpsc::{Receiver, Sender};
use tokio_util::sync::CancellationToken;

/// The version of both sides: they are built and shipped together.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Log lines kept for a crash message: a panic with its backtrace.
pub(super) const LOG_LINES: usize = 40;

/// Maximum bytes of a log line; longer ones are split.
pub(super) const LOG_LINE: u64 = 4096;

/// Time to exit after the input was closed; then the program is killed.
pub(super) const EXIT: Duration = Duration::from_secs(1);

/// Interval of checks for a cancel: too short for a user to notice.
pub(super) const CANCEL_CHECK: Duration = Duration::from_millis(20);

/// Interval of checks whether the program has exited.
pub(super) const EXIT_CHECK: Duration = Duration::from_millis(2);

pub trait HelperCommand: Serialize {
    fn cancel(id: u64) -> Self;
}

pub trait HelperReport: DeserializeOwned + Send + 'static {
    /// Returns the version of the program if this is its first report.
    fn version(&self) -> Option<&str>;

    /// Returns the id of the command; `None` if the program could not read it.
    fn id(&self) -> Option<u64>;

    /// Returns whether this is the last report of its command.
    fn ends_command(&self) -> bool;

    fn failed(id: u64, error: ModelError) -> Self;
}

#[derive(Debug, Clone, Copy)]
pub struct HelperLimits {
    /// Maximum bytes of a line.
    pub line_bytes: usize,
    /// Reports of one command buffered by the client before the program has to wait.
    pub queued_reports: usize,
    /// Time until the first report.
    pub hello: Duration,
    /// Time to react to a cancel before the program is killed; `None` to never kill it for that.
    pub cancel: Option<Duration>,
}

/// A line that is not a message.
#[derive(Debug)]
pub struct InvalidLine {
    /// The `id` in the line, if it can be read.
    pub id: Option<u64>,
    /// The parse error; `None` if the line is longer than the limit.
    pub error: Option<serde_json::Error>,
}

impl InvalidLine {
    pub fn refusal(&self) -> ModelError {
        ModelError::Failed(match &self.error {
            Some(error) => format!("the helper program received an invalid command: {error}"),
            None => "the command is too long; shorten the conversation".to_owned(),
        })
    }

    fn new(line: &[u8], error: serde_json::Error) -> Self {
        // Not a `Value`, which has a limit on nesting and takes many times the memory of the line.
        #[derive(Deserialize)]
        struct About {
            id: Option<u64>,
        }
        let about = serde_json::from_slice::<About>(line).ok();
        Self { id: about.and_then(|about| about.id), error: Some(error) }
    }
}

/// The helper program, shared by the client and the threads of the streams.
#[derive(Debug)]
pub(super) struct Peer<R> {
    state: Mutex<State<R>>,
    changed: Condvar,
    /// Reports are dropped from now on.
    abandoned: CancellationToken,
}

#[derive(Debug)]
pub(super) struct State<R> {
    /// `None` for a helper in this process.
    child: Option<Child>,
    pub(super) hello: Option<R>,
    last: u64,
    /// The commands that have not ended, and the receivers of their reports.
    pub(super) commands: HashMap<u64, Sender<R>>,
    pub(super) log: Log,
    /// Its log has ended.
    logged: bool,
    /// We asked it to exit, before it was killed.
    pub(super) stopped: bool,
    /// We killed it because it did not respond.
    pub(super) killed: bool,
    pub(super) ended: bool,
    /// Known once it has exited.
    pub(super) status: Option<ExitStatus>,
}

impl<R> Peer<R> {
    pub(super) fn new(child: Option<Child>) -> Self {
        let state = State {
            logged: child.is_none(),
            child,
            hello: None,
            last: 0,
            commands: HashMap::new(),
            log: Log::default(),
            stopped: false,
            killed: false,
            ended: false,
            status: None,
        };
        Self { state: Mutex::new(state), changed: Condvar::new(), abandoned: CancellationToken::new() }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State<R>> {
        self.state.lock()
    }

    pub(super) fn process_id(&self) -> Option<u32> {
        self.state().child.as_ref().map(Child::id)
    }

    fn change(&self, change: impl FnOnce(&mut State<R>)) {
        change(&mut self.state());
        self.changed.notify_all();
    }

    pub(super) fn begin(&self, reports: Sender<R>) -> u64 {
        let mut state = self.state();
        // The log of earlier commands is not about this one.
        if state.commands.is_empty() {
            state.log.clear();
        }
        state.last += 1;
        let id = state.last;
        if !state.ended {
            state.commands.insert(id, reports);
        }
        id
    }

    pub(super) fn end(&self, id: u64) {
        self.change(|state| drop(state.commands.remove(&id)));
    }

    /// Records that it is asked to exit, and drops all reports from now on.
    pub(super) fn abandon(&self) {
        {
            let mut state = self.state();
            state.stopped |= !state.killed;
        }
        self.abandoned.cancel();
    }

    /// Waits up to `time` for a condition; returns whether it became true.
    pub(super) fn wait_until(&self, time: Duration, done: impl Fn(&State<R>) -> bool) -> bool {
        let mut state = self.state();
        self.changed.wait_while_for(&mut state, |state| !done(state), time);
        done(&state)
    }

    pub(super) fn wait(
        &self,
        time: Duration,
        cancel: &CancellationToken,
        done: impl Fn(&State<R>) -> bool,
    ) -> Result<(), ModelError> {
        let started = Instant::now();
        while !self.wait_until(CANCEL_CHECK, &done) && started.elapsed() < time {
            if cancel.is_cancelled() {
                return Err(ModelError::Cancelled);
            }
        }
        Ok(())
    }

    /// Kills the program unless `done` becomes true or it exits within `time`.
    pub(super) fn kill_unless(&self, time: Duration, done: impl Fn(&State<R>) -> bool) {
        let mut state = self.state();
        self.changed.wait_while_for(&mut state, |state| !done(state) && !state.ended, time);
        if done(&state) || state.ended {
            return;
        }
        // Under the same lock, so that no more commands are sent.
        state.killed = true;
        tracing::warn!("the helper program does not respond and is killed");
        if let Some(Err(error)) = state.child.as_mut().map(Child::kill) {
            tracing::warn!("the helper program cannot be killed: {error}");
        }
    }

    /// Keeps the last lines and forwards them to the log of this process.
    pub(super) fn read_log(&self, errors: ChildStderr) {
        let (mut errors, mut line) = (BufReader::new(errors), Vec::new());
        while (&mut errors).take(LOG_LINE).read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
            let text = String::from_utf8_lossy(&line);
            let text = text.trim_end();
            // Errors for the user are reported as results of commands.
            tracing::debug!("{text}");
            self.state().log.push(text);
            line.clear();
        }
        self.change(|state| state.logged = true);
    }

    /// Waits for the exit of a program that has closed its output, then ends all reports.
    pub(super) fn wait_for_exit(&self) {
        let closed = Instant::now();
        let status = self.exit_status(closed);
        // Another process could keep standard error open.
        self.wait_until(EXIT.saturating_sub(closed.elapsed()), |state| state.logged);
        self.change(|state| {
            state.ended = true;
            state.status = status;
            state.commands.clear();
        });
    }

    fn exit_status(&self, closed: Instant) -> Option<ExitStatus> {
        loop {
            let exited = self.state().child.as_mut()?.try_wait().ok()?;
            if exited.is_some() {
                return exited;
            }
            if closed.elapsed() > EXIT && !self.state().killed {
                self.kill_unless(Duration::ZERO, |_| false);
            }
            sleep(EXIT_CHECK);
        }
    }
}

impl<R: HelperReport> Peer<R> {
    pub(super) fn read_reports(&self, output: impl Read, limit: usize) {
        let read = read_messages(output, limit, |read| match read {
            Ok(report) => self.forward(report),
            Err(line) => {
                let error = line.error.map(|error| error.to_string());
                self.fail(line.id, error.as_deref().unwrap_or("the line is too long"));
            }
        });
        if let Err(error) = read {
            tracing::warn!("cannot read the reports of the helper program: {error}");
        }
    }

    fn forward(&self, report: R) {
        if report.version().is_some() {
            return self.change(|state| state.hello = Some(report));
        }
        let Some(id) = report.id() else {
            // The program has not started that command, and we cannot know which one it was.
            self.fail(None, "it received an invalid command");
            return self.change(|state| state.commands.clear());
        };
        let reports = self.state().commands.get(&id).cloned();
        if report.ends_command() {
            self.end(id);
        }
        if let Some(reports) = reports {
            self.deliver(&reports, report);
        }
    }

    /// Fails the commands that an invalid line may belong to, since its content is lost.
    fn fail(&self, id: Option<u64>, why: &str) {
        tracing::warn!("the helper program sent an invalid line: {why}");
        let commands = self.state().commands.clone();
        for (command, reports) in commands {
            if id.is_none_or(|id| id == command) {
                let why = format!("the helper program sent a line that cannot be read ({why}); try again");
                self.deliver(&reports, R::failed(command, ModelError::Failed(why)));
            }
        }
    }

    /// Blocks until the report is taken, its receiver is gone, or reports are abandoned.
    fn deliver(&self, reports: &Sender<R>, report: R) {
        let _ = block_on(self.abandoned.run_until_cancelled(reports.send(report)));
    }
}

/// Reads messages, one per line of at most `limit` bytes, until the input ends.
pub fn read_messages<T: DeserializeOwned>(
    input: impl Read,
    limit: usize,
    mut on_message: impl FnMut(Result<T, InvalidLine>),
) -> io::Result<()> {
    let (mut input, mut line) = (BufReader::new(input), Vec::new());
    // The limit does not count the line end.
    while (&mut input).take(limit as u64 + 1).read_until(b'\n', &mut line)? > 0 {
        on_message(if line.len() > limit && !line.ends_with(b"\n") {
            input.skip_until(b'\n')?;
            Err(InvalidLine { id: None, error: None })
        } else {
            json_text::from_slice(&line).map_err(|error| InvalidLine::new(&line, error))
        });
        line.clear();
    }
    Ok(())
}

/// Writes `message` as one line.
pub fn write_line(writer: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *writer, message)?;
    writer.write_all(b"\n")
}

/// Waits for the next report of a command, or [`ModelError::Cancelled`]; `None` if there are no more. Blocks.
pub fn next_report<R>(
    reports: &mut Receiver<R>,
    cancel: &CancellationToken,
) -> Result<Option<R>, ModelError> {
    block_on(cancel.run_until_cancelled(reports.recv())).ok_or(ModelError::Cancelled)
}

#[derive(Debug, Default)]
pub(super) struct Log(VecDeque<String>);

impl Log {
    /// Adds a line; only the last lines are kept.
    pub(super) fn push(&mut self, line: &str) {
        if self.0.len() == LOG_LINES {
            self.0.pop_front();
        }
        self.0.push_back(line.to_owned());
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns the most significant line: the last error, assertion or panic, otherwise the last line.
    fn most_significant(&self) -> Option<&str> {
        let tells =
            |line: &&String| ["ERROR", "ASSERT", "panicked", "error:"].iter().any(|word| line.contains(word));
        self.0.iter().rev().find(tells).or(self.0.back()).map(|line| line.trim())
    }
}

/// Describes how a process ended and its last message: `signal 6 (SIGABRT): GGML_ASSERT(…) failed`.
pub(super) fn exit_reason(status: Option<ExitStatus>, log: &Log) -> String {
    let how = match status {
        None => "it did not answer and was ended".to_owned(),
        Some(status) => describe_status(status),
    };
    match log.most_significant() {
        Some(line) => format!("{how}: {line}"),
        None => how,
    }
}

fn describe_status(status: ExitStatus) -> String {
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return match signal_name(signal) {
            // Not sent by us: when memory runs out, the system kills the largest process.
            Some(name) if signal == libc::SIGKILL => {
                format!("signal {signal} ({name}), perhaps because memory ran out")
            }
            Some(name) => format!("signal {signal} ({name})"),
            None => format!("signal {signal}"),
        };
    }
    status.code().map_or_else(|| "it ended".to_owned(), |code| format!("exit code {code}"))
}

/// Returns the name of a common signal: `SIGKILL`.
pub fn signal_name(signal: i32) -> Option<&'static str> {
    Some(match signal {
        libc::SIGABRT => "SIGABRT",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGHUP => "SIGHUP",
        libc::SIGILL => "SIGILL",
        libc::SIGINT => "SIGINT",
        libc::SIGKILL => "SIGKILL",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGQUIT => "SIGQUIT",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGTERM => "SIGTERM",
        libc::SIGTRAP => "SIGTRAP",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_messages_skips_long_line() {
        let mut read = Vec::new();
        read_messages::<u64>(&b"12345678\n1234\n\n56\n12345"[..], 4, |message| {
            read.push(message.map_err(|line| line.error.is_none()));
        })
        .unwrap();
        assert_eq!(read, [Err(true), Ok(1234), Err(false), Ok(56), Err(true)]);
    }

    #[test]
    fn read_messages_replaces_lone_surrogates() {
        for line in [&br#""cut \ud83d""#[..], br#""cut \ude00""#] {
            read_messages::<String>(line, 99, |read| assert_eq!(read.unwrap(), "cut \u{fffd}")).unwrap();
        }
    }

    #[test]
    fn invalid_line_keeps_its_id() {
        let deep = format!("{{\"arguments\":{}{},\"id\":7}}", "[".repeat(200), "]".repeat(200));
        for line in ["{\"id\":7}", &deep] {
            let read = |message: Result<u64, InvalidLine>| assert_eq!(message.unwrap_err().id, Some(7));
            read_messages(line.as_bytes(), 999, read).unwrap();
        }
    }
    #[test]
    fn exit_reason_names_signal_and_best_line() {
        use std::os::unix::process::ExitStatusExt;
        let mut log = Log::default();
        let aborted = Some(ExitStatus::from_raw(6));
        assert_eq!(exit_reason(aborted, &log), "signal 6 (SIGABRT)");
        log.push(" INFO loaded");
        assert_eq!(exit_reason(Some(ExitStatus::from_raw(0x100)), &log), "exit code 1: INFO loaded");
        let killed = Some(ExitStatus::from_raw(9));
        assert!(exit_reason(killed, &log).contains("(SIGKILL), perhaps because memory ran out: "));
        log.push("GGML_ASSERT(n <= n_batch) failed");
        (0..LOG_LINES - 1).for_each(|_| log.push("frame"));
        assert_eq!(exit_reason(aborted, &log), "signal 6 (SIGABRT): GGML_ASSERT(n <= n_batch) failed");
        log.push("frame");
        assert_eq!(exit_reason(aborted, &log), "signal 6 (SIGABRT): frame");
    }
}
