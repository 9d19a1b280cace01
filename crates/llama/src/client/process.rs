//! A process of the helper program: its streams, its current command and its exit.

use super::{listener::Listener, lock};
use crate::{
    engine::Device,
    protocol::{Command, Line, MAX_LINE, Report, VERSION, read_line},
};
use openagents_core::{CancellationToken, helper, model::ModelError};
use serde::Deserialize;
use std::{
    io::{self, BufRead, BufReader, Read, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStderr, ChildStdin, ChildStdout, ExitStatus, Stdio},
    sync::{
        Arc, Condvar, Mutex, PoisonError,
        mpsc::{Receiver, Sender, channel},
    },
    thread,
    time::{Duration, Instant},
};
use tokio::sync::mpsc;

/// Time until the first message: the graphics driver may have to compile shaders first.
const HELLO: Duration = Duration::from_secs(60);

/// Time to exit after standard input was closed.
const END: Duration = Duration::from_secs(1);

/// Time to react to a cancel.
const CANCEL: Duration = Duration::from_secs(2);

/// Reports buffered here before the helper has to wait.
const WAITING_REPORTS: usize = 64;

/// Maximum bytes kept of a log line of the helper.
const LOG_LINE: u64 = 4096;

/// See the module documentation. The process has exited when [`Process::end`] returns.
#[derive(Debug)]
pub(super) struct Process {
    program: PathBuf,
    id: u32,
    /// Lines for standard input, which closes when this is dropped. Written by a thread: a helper that does not read
    /// must not block a cancel.
    input: Mutex<Option<Sender<Vec<u8>>>>,
    shared: Arc<Shared>,
}

/// State shared with the threads of the streams.
#[derive(Debug)]
struct Shared {
    child: Mutex<Child>,
    state: Mutex<State>,
    changed: Condvar,
    log: Mutex<helper::Log>,
    listener: Listener,
    /// Reports are dropped from now on.
    abandoned: CancellationToken,
}

#[derive(Debug, Default)]
struct State {
    /// The version and devices from its first message.
    hello: Option<(String, Vec<Device>)>,
    /// The id of the last command.
    last: u64,
    /// All commands up to this one have ended.
    ended_commands: u64,
    /// The current command and the receiver of its reports.
    waiting: Option<(u64, mpsc::Sender<Report>)>,
    /// We asked it to exit.
    asked_to_end: bool,
    /// We killed it because it did not respond.
    killed: bool,
    /// Set once it has exited, with its status if known.
    ended: Option<Option<ExitStatus>>,
}

impl Process {
    /// Starts the program; `listener` is notified of its exit.
    pub(super) fn start(program: &Path, listener: Listener) -> Result<Self, ModelError> {
        let cannot = |why: String| {
            ModelError::Unavailable(format!(
                "the helper program {} cannot be started: {why}; install it again",
                program.display()
            ))
        };
        let mut command = std::process::Command::new(program);
        command
            // Otherwise an assertion starts a debugger first.
            .env("GGML_NO_BACKTRACE", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        // Ctrl-C in a terminal is meant for this program, which may only stop an answer.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn().map_err(|error| cannot(error.to_string()))?;
        let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = streams else {
            return Err(cannot("it has no streams".to_owned()));
        };
        let id = child.id();
        let shared = Arc::new(Shared {
            child: Mutex::new(child),
            state: Mutex::default(),
            changed: Condvar::new(),
            log: Mutex::default(),
            listener,
            abandoned: CancellationToken::new(),
        });
        let (input, lines) = channel();
        let threads = || {
            spawn("helper-input", move || write(stdin, &lines))?;
            let log = spawn("helper-log", {
                let shared = shared.clone();
                move || shared.read_log(stderr)
            })?;
            let reading = shared.clone();
            spawn("helper-reports", move || {
                reading.read_reports(stdout);
                reading.wait_for_end(log);
            })
        };
        if let Err(error) = threads() {
            let mut child = lock(&shared.child);
            let _ = child.kill().and_then(|()| child.wait());
            return Err(ModelError::Failed(format!("no thread for the helper program: {error}; try again")));
        }
        Ok(Self { program: program.to_owned(), id, input: Mutex::new(Some(input)), shared })
    }

    /// Waits for the first message.
    pub(super) fn greet(&self, cancel: &CancellationToken) -> Result<(), ModelError> {
        let started = Instant::now();
        let said = |state: &State| state.hello.is_some() || state.ended.is_some();
        while !self.shared.wait_until(Duration::from_millis(20), said) && started.elapsed() < HELLO {
            if cancel.is_cancelled() {
                return Err(ModelError::Cancelled);
            }
        }
        let program = self.program.display();
        let version = lock(&self.shared.state).hello.as_ref().map(|(version, _)| version.clone());
        match version {
            Some(version) if version == VERSION => Ok(()),
            Some(version) => Err(ModelError::Unavailable(format!(
                "the helper program {program} has version {version}, but {VERSION} is needed; install both again"
            ))),
            None => Err(ModelError::Unavailable(format!(
                "{program} is not the helper program ({}); install it again",
                self.shared.describe_end()
            ))),
        }
    }

    pub(super) fn id(&self) -> u32 {
        self.id
    }

    pub(super) fn devices(&self) -> Vec<Device> {
        let state = lock(&self.shared.state);
        state.hello.as_ref().map(|(_, devices)| devices.clone()).unwrap_or_default()
    }

    pub(super) fn is_running(&self) -> bool {
        let state = lock(&self.shared.state);
        state.ended.is_none() && !state.asked_to_end && !state.killed
    }

    /// Sends a command and returns its id and its reports.
    pub(super) fn send(
        &self,
        command: impl FnOnce(u64) -> Command,
    ) -> Result<(u64, mpsc::Receiver<Report>), ModelError> {
        let (sender, reports) = mpsc::channel(WAITING_REPORTS);
        // The log of an earlier command says nothing about this one.
        lock(&self.shared.log).clear();
        let id = {
            let mut state = lock(&self.shared.state);
            state.last += 1;
            // An abandoned command ends when it notices its cancel.
            state.waiting = state.ended.is_none().then_some((state.last, sender));
            state.last
        };
        if let Err(error) = self.write(&command(id)) {
            self.shared.note_end_of(id);
            return Err(error);
        }
        Ok((id, reports))
    }

    /// Waits until all commands have ended, including cancelled ones, or the program has exited.
    pub(super) fn settle(&self, cancel: &CancellationToken) -> Result<(), ModelError> {
        let idle = |state: &State| state.ended_commands >= state.last || state.ended.is_some();
        while !self.shared.wait_until(Duration::from_millis(20), idle) {
            if cancel.is_cancelled() {
                return Err(ModelError::Cancelled);
            }
        }
        Ok(())
    }

    /// Cancels a running command, and kills the helper if it does not react. Does not block.
    pub(super) fn cancel(&self, id: u64) {
        if lock(&self.shared.state).ended_commands >= id {
            return;
        }
        // Fails if the helper has exited.
        let _ = self.write(&Command::Cancel { id });
        let shared = self.shared.clone();
        let kill = move || shared.kill_unless(CANCEL, |state| state.ended_commands >= id);
        if let Err(error) = spawn("helper-cancel", kill) {
            tracing::warn!("no thread to watch the helper program: {error}");
            self.shared.kill();
        }
    }

    /// Stops the program and waits for its exit, for little more than [`END`].
    pub(super) fn end(&self) {
        lock(&self.shared.state).asked_to_end = true;
        self.shared.abandoned.cancel();
        *lock(&self.input) = None;
        self.shared.kill_unless(END, |_| false);
        self.shared.wait_until(END, |state| state.ended.is_some());
    }

    /// Returns the reason there are no more reports.
    pub(super) fn why_it_ended(&self) -> ModelError {
        let (asked, killed) = {
            let state = lock(&self.shared.state);
            (state.asked_to_end, state.killed)
        };
        if asked && !killed {
            return ModelError::Unavailable(
                "the model was unloaded before it had answered; try again".to_owned(),
            );
        }
        ModelError::Crashed(self.shared.describe_end())
    }

    fn write(&self, command: &Command) -> Result<(), ModelError> {
        let mut line = serde_json::to_vec(command)
            .map_err(|error| ModelError::Failed(format!("cannot encode a command: {error}")))?;
        if line.len() > MAX_LINE {
            let bytes = line.len();
            return Err(ModelError::Failed(format!(
                "the conversation has {bytes} bytes, but the limit is {MAX_LINE}; start a new session or shorten the prompt"
            )));
        }
        line.push(b'\n');
        // If the thread has ended, so has the helper, and the reports end too.
        if let Some(input) = &*lock(&self.input) {
            let _ = input.send(line);
        }
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

impl Shared {
    /// Forwards reports until the stream ends.
    fn read_reports(&self, stdout: ChildStdout) {
        let mut output = BufReader::new(stdout);
        let mut line = Vec::new();
        loop {
            match read_line(&mut output, &mut line, MAX_LINE) {
                Ok(Line::Read) => match serde_json::from_slice(&line) {
                    Ok(report) => self.pass_on(report),
                    Err(error) => self.fail_unread(&line, &error.to_string()),
                },
                Ok(Line::TooLong) => self.fail_unread(&[], "the line is too long"),
                Ok(Line::End) | Err(_) => return,
            }
        }
    }

    fn pass_on(&self, report: Report) {
        if let Report::Hello { version, devices } = report {
            lock(&self.state).hello = Some((version, devices));
            self.changed.notify_all();
            return;
        }
        let waiting = self.waiting(report.id());
        if report.ends_command()
            // A line that the helper could not parse must be the current command.
            && let Some(id) = report.id().or(waiting.as_ref().map(|(id, _)| *id))
        {
            self.note_end_of(id);
        }
        if let Some((_, sender)) = waiting {
            self.hand_over(&sender, report);
        }
    }

    /// Fails the command of an invalid line, since its content is lost.
    fn fail_unread(&self, line: &[u8], why: &str) {
        #[derive(Deserialize)]
        struct About {
            id: Option<u64>,
        }
        tracing::warn!("the helper program sent an invalid line: {why}");
        let about = serde_json::from_slice::<About>(line).ok().and_then(|about| about.id);
        if let Some((id, sender)) = self.waiting(about) {
            let error = ModelError::Failed(format!(
                "the helper program sent a line that cannot be read ({why}); try again"
            ));
            self.hand_over(&sender, Report::Failed { id: Some(id), error });
        }
    }

    /// Returns the receiver of this command's reports, or of the current command's.
    fn waiting(&self, id: Option<u64>) -> Option<(u64, mpsc::Sender<Report>)> {
        let state = lock(&self.state);
        state.waiting.as_ref().filter(|(waiting, _)| id.is_none_or(|id| id == *waiting)).cloned()
    }

    /// Blocks until the report is taken or the reports are abandoned.
    fn hand_over(&self, sender: &mpsc::Sender<Report>, report: Report) {
        futures::executor::block_on(async {
            tokio::select! {
                biased;
                () = self.abandoned.cancelled() => (),
                _ = sender.send(report) => (),
            }
        });
    }

    fn note_end_of(&self, command: u64) {
        let mut state = lock(&self.state);
        state.ended_commands = state.ended_commands.max(command);
        self.changed.notify_all();
    }

    /// Keeps the last lines and forwards them to the log of this process.
    fn read_log(&self, stderr: ChildStderr) {
        let mut errors = BufReader::new(stderr);
        let mut line = Vec::new();
        // Overlong lines are split.
        while (&mut errors).take(LOG_LINE).read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
            let text = String::from_utf8_lossy(&line);
            let text = text.trim_end();
            // Errors for the person are reported as results of commands.
            tracing::debug!(target: "openagents_llama::helper", "{text}");
            lock(&self.log).push(text);
            line.clear();
        }
    }

    /// Waits for the exit of a program that has closed its output, and notifies waiting callers.
    fn wait_for_end(&self, log: thread::JoinHandle<()>) {
        let closed = Instant::now();
        let status = loop {
            match lock(&self.child).try_wait() {
                Ok(Some(status)) => break Some(status),
                Ok(None) if closed.elapsed() > END => {
                    self.kill();
                    break lock(&self.child).wait().ok();
                }
                Ok(None) => {}
                Err(_) => break None,
            }
            thread::sleep(Duration::from_millis(2));
        };
        // Reads the rest of the log. Another process could keep standard error open.
        while !log.is_finished() && closed.elapsed() < END {
            thread::sleep(Duration::from_millis(2));
        }
        {
            let mut state = lock(&self.state);
            state.ended = Some(status);
            // Ends the reports of a waiting caller.
            state.waiting = None;
            self.changed.notify_all();
        }
        self.listener.tell();
    }

    /// Kills the program unless `done` becomes true or it exits within `time`.
    fn kill_unless(&self, time: Duration, done: impl Fn(&State) -> bool) {
        {
            let state = lock(&self.state);
            let go_on = |state: &mut State| !done(state) && state.ended.is_none();
            let waited = self.changed.wait_timeout_while(state, time, go_on);
            let (mut state, waited) = waited.unwrap_or_else(PoisonError::into_inner);
            if !waited.timed_out() {
                return;
            }
            // Under the same lock, so that no more commands are sent.
            state.killed = true;
        }
        tracing::warn!("the helper program does not respond and is killed");
        if let Err(error) = lock(&self.child).kill() {
            tracing::warn!("the helper program cannot be killed: {error}");
        }
    }

    fn kill(&self) {
        self.kill_unless(Duration::ZERO, |_| false);
    }

    /// Waits up to `time` for a condition; returns whether it became true.
    fn wait_until(&self, time: Duration, done: impl Fn(&State) -> bool) -> bool {
        let state = lock(&self.state);
        let waited = self.changed.wait_timeout_while(state, time, |state| !done(state));
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        done(&state)
    }

    fn describe_end(&self) -> String {
        let status = {
            let state = lock(&self.state);
            if state.killed { None } else { state.ended.flatten() }
        };
        helper::describe(status, &lock(&self.log))
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<thread::JoinHandle<()>> {
    thread::Builder::new().name(name.to_owned()).spawn(work)
}

/// Writes lines until the sender or the stream is closed, then closes the stream.
fn write(mut stdin: ChildStdin, lines: &Receiver<Vec<u8>>) {
    while let Ok(line) = lines.recv() {
        if stdin.write_all(&line).and_then(|()| stdin.flush()).is_err() {
            return;
        }
    }
}
