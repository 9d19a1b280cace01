//! The helper program as its client sees it: its process, its running commands, its log and its exit.

use super::{
    ending::Log,
    limits::{CANCEL_CHECK, EXIT, EXIT_CHECK, LOG_LINE},
    lines::read_messages,
    messages::HelperReport,
};
use crate::model::ModelError;
use futures::executor::block_on;
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::{
    collections::HashMap,
    io::{BufRead, BufReader, Read},
    process::{Child, ChildStderr, ExitStatus},
    thread::sleep,
    time::{Duration, Instant},
};
use tokio::sync::mpsc::Sender;
use tokio_util::sync::CancellationToken;

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
    /// The first report.
    pub(super) hello: Option<R>,
    /// The id of the last command.
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
    /// It has exited.
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

    /// Returns the id of its process; `None` for a helper in this process.
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

    /// Waits up to `time` for a condition, or for a cancel.
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
    /// Forwards reports until the stream ends.
    pub(super) fn read(&self, output: impl Read, limit: usize) {
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
