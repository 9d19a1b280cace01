//! The client of a running helper program.

use super::peer::{EXIT, HelperCommand, HelperLimits, HelperReport, Peer, VERSION, exit_reason};
use crate::model::ModelError;
use parking_lot::Mutex;
use std::{
    ffi::OsString,
    io::{self, Read, Write},
    marker::PhantomData,
    process::{Command, Stdio},
    sync::{Arc, mpsc},
    thread,
    time::Duration,
};
use tokio::sync::mpsc::{Receiver, channel};
use tokio_util::sync::CancellationToken;

/// Variables for folders, language and logs.
const PASSED: &str = "HOME USER LOGNAME PATH TMPDIR TMP TEMP TZ LANG XDG_CACHE_HOME LD_LIBRARY_PATH RUST_LOG \
    RUST_BACKTRACE LLVM_PROFILE_FILE __CF_USER_TEXT_ENCODING";

/// Prefixes of our own settings and those of the compute libraries.
const PASSED_BEGIN: &str = "OPENAGENTS_LLAMA_ OPENAGENTS_APPLE_ OPENAGENTS_TEST_ GGML_ LLAMA_ METAL_ MTL_ \
    CUDA_ HIP_ ROCR_ VK_ OMP_ DYLD_ LC_";

/// A running helper program. Each command gets reports until one ends it. Dropping the client stops the program.
#[derive(Debug)]
pub struct HelperClient<C, R> {
    /// The program's name, for errors.
    name: String,
    limits: HelperLimits,
    /// Closes the program's input when dropped. A thread writes: a program that does not read must not block a cancel.
    input: Mutex<Option<mpsc::Sender<Vec<u8>>>>,
    peer: Arc<Peer<R>>,
    _commands: PhantomData<fn(C)>,
}

impl<C: HelperCommand, R: HelperReport> HelperClient<C, R> {
    /// Starts the program with the variables that were set for it and those that a helper needs. `on_exit` is called from
    /// another thread after its exit.
    pub fn start(
        mut command: Command,
        limits: HelperLimits,
        on_exit: impl FnOnce() + Send + 'static,
    ) -> Result<Self, ModelError> {
        let name = command.get_program().to_string_lossy().into_owned();
        reduce_environment(command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()));
        // Ctrl-C in a terminal is meant for this program, which may only stop an answer.
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn().map_err(|error| {
            ModelError::Unavailable(format!(
                "the helper program {name} cannot be started: {error}; install it again"
            ))
        })?;
        let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let peer = Arc::new(Peer::new(Some(child)));
        let connected = || {
            let (Some(input), Some(output), Some(errors)) = streams else {
                return Err(io::Error::other("it has no streams"));
            };
            let logging = peer.clone();
            spawn("helper-log", move || logging.read_log(errors))?;
            Self::connect(name, limits, peer.clone(), (output, input), on_exit)
        };
        connected().map_err(|error| {
            peer.kill_unless(Duration::ZERO, |_| false);
            no_thread(&error)
        })
    }

    /// Connects to a helper over its output and input streams. `name` is for errors.
    pub fn from_streams(
        name: &str,
        limits: HelperLimits,
        streams: (impl Read + Send + 'static, impl Write + Send + 'static),
    ) -> Result<Self, ModelError> {
        let peer = Arc::new(Peer::new(None));
        Self::connect(name.to_owned(), limits, peer, streams, || ()).map_err(|error| no_thread(&error))
    }

    fn connect(
        name: String,
        limits: HelperLimits,
        peer: Arc<Peer<R>>,
        (output, mut input): (impl Read + Send + 'static, impl Write + Send + 'static),
        on_exit: impl FnOnce() + Send + 'static,
    ) -> io::Result<Self> {
        let (sender, lines) = mpsc::channel::<Vec<u8>>();
        // Ends, and closes the stream, when the sender or the program is gone.
        spawn("helper-input", move || {
            let mut write = |line: Vec<u8>| input.write_all(&line).and_then(|()| input.flush());
            while lines.recv().is_ok_and(|line| write(line).is_ok()) {}
        })?;
        let reading = peer.clone();
        spawn("helper-reports", move || {
            reading.read_reports(output, limits.line_bytes);
            reading.wait_for_exit();
            on_exit();
        })?;
        let input = Mutex::new(Some(sender));
        Ok(Self { name, limits, input, peer, _commands: PhantomData })
    }

    /// Waits for the first report and returns it; fails if it does not arrive in time or has another version.
    pub fn greet(&self, cancel: &CancellationToken) -> Result<R, ModelError> {
        self.peer.wait(self.limits.hello, cancel, |state| state.hello.is_some() || state.ended)?;
        let hello = self.peer.state().hello.take();
        let why = match &hello {
            None => format!("does not respond ({}); install it again", self.exit_reason()),
            Some(hello) => {
                let version = hello.version().unwrap_or_default();
                format!("has version {version}, but {VERSION} is needed; install both again")
            }
        };
        hello
            .filter(|hello| hello.version() == Some(VERSION))
            .ok_or_else(|| ModelError::Unavailable(format!("the helper program {} {why}", self.name)))
    }

    /// Returns the process id; `None` for a helper in this process.
    pub fn process_id(&self) -> Option<u32> {
        self.peer.process_id()
    }

    pub fn is_running(&self) -> bool {
        let state = self.peer.state();
        !state.ended && !state.stopped && !state.killed
    }

    /// Returns whether [`Self::stop`] was called before the program had to be killed. On a busy machine, an exit may
    /// take longer than we wait for it; that is not a crash.
    pub fn was_stopped(&self) -> bool {
        self.peer.state().stopped
    }

    /// Sends a command with a new id; returns the id and the reports, see [`next_report`](super::next_report). Fails if
    /// the command is too long. After the exit there are no reports.
    pub fn ask(&self, command: impl FnOnce(u64) -> C) -> Result<(u64, Receiver<R>), ModelError> {
        let (sender, reports) = channel(self.limits.queued_reports);
        let id = self.peer.begin(sender);
        self.send(&command(id)).inspect_err(|_| self.peer.end(id))?;
        Ok((id, reports))
    }

    /// Sends a command that gets no reports. Fails if it is too long; does nothing after the exit.
    pub fn send(&self, command: &C) -> Result<(), ModelError> {
        let mut line = serde_json::to_vec(command)
            .map_err(|error| ModelError::Failed(format!("cannot encode a command: {error}")))?;
        let (bytes, limit) = (line.len(), self.limits.line_bytes);
        if bytes > limit {
            return Err(ModelError::Failed(format!(
                "the conversation has {bytes} bytes, but the limit is {limit}; start a new session or shorten the prompt"
            )));
        }
        line.push(b'\n');
        // If the thread has ended, so has the helper, and the reports end too.
        if let Some(input) = &*self.input.lock() {
            let _ = input.send(line);
        }
        Ok(())
    }

    /// Cancels a command unless it has ended; kills the program if it does not react in time. Does not block.
    pub fn cancel(&self, id: u64) {
        let is_running = self.peer.state().commands.contains_key(&id);
        if !is_running || self.send(&C::cancel(id)).is_err() {
            return;
        }
        let Some(limit) = self.limits.cancel else { return };
        let peer = self.peer.clone();
        let watch = move || peer.kill_unless(limit, |state| !state.commands.contains_key(&id));
        if let Err(error) = spawn("helper-cancel", watch) {
            tracing::warn!("no thread to watch the helper program: {error}");
            self.peer.kill_unless(Duration::ZERO, |_| false);
        }
    }

    /// Waits until all commands have ended, including cancelled ones, or the program has exited.
    pub fn settle(&self, cancel: &CancellationToken) -> Result<(), ModelError> {
        self.peer.wait(Duration::MAX, cancel, |state| state.commands.is_empty() || state.ended)
    }

    /// Describes the exit, once there are no more reports: `signal 6 (SIGABRT): GGML_ASSERT(…) failed`.
    pub fn exit_reason(&self) -> String {
        if self.process_id().is_none() {
            return "it closed the connection".to_owned();
        }
        let state = self.peer.state();
        exit_reason(state.status.filter(|_| !state.killed), &state.log)
    }
}

impl<C, R> HelperClient<C, R> {
    /// Stops the program and waits for its exit, for slightly more than a second.
    pub fn stop(&self) {
        self.peer.abandon();
        *self.input.lock() = None;
        if self.peer.process_id().is_some() {
            self.peer.kill_unless(EXIT, |_| false);
            self.peer.wait_until(EXIT, |state| state.ended);
        }
    }
}

impl<C, R> Drop for HelperClient<C, R> {
    fn drop(&mut self) {
        self.stop();
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<thread::JoinHandle<()>> {
    thread::Builder::new().name(name.to_owned()).spawn(work)
}

fn no_thread(error: &io::Error) -> ModelError {
    ModelError::Failed(format!("no thread for the helper program: {error}; close other programs"))
}

/// Reduces a command's environment to the variables that were set for it and those that a helper needs, without the
/// user's keys.
pub(super) fn reduce_environment(command: &mut Command) {
    let added: Vec<(OsString, OsString)> =
        command.get_envs().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned()))).collect();
    let passed = std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_passed));
    command.env_clear().envs(passed).envs(added);
}

fn is_passed(name: &str) -> bool {
    PASSED.split(' ').any(|passed| passed == name)
        || PASSED_BEGIN.split(' ').any(|begin| name.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;

    /// Regression: the helper program inherited every key of the user's shell.
    #[test]
    fn helper_inherits_no_keys() {
        let rows = [
            ("PATH", true),
            ("LC_ALL", true),
            ("OPENAGENTS_LLAMA_THREADS", true),
            ("CUDA_VISIBLE_DEVICES", true),
            ("OPENAGENTS_TOKEN", false),
            ("OPENAI_API_KEY", false),
            ("ANTHROPIC_API_KEY", false),
            ("HF_TOKEN", false),
            ("SSH_AUTH_SOCK", false),
            ("", false),
        ];
        for (name, expected) in rows {
            assert_eq!(is_passed(name), expected, "{name}");
        }
        let mut command = Command::new("helper");
        reduce_environment(command.env("ADDED", "1"));
        let names: Vec<&OsStr> = command.get_envs().map(|(name, _)| name).collect();
        assert!(names.contains(&OsStr::new("ADDED")) && names.contains(&OsStr::new("PATH")), "{names:?}");
        // Set by cargo in tests.
        assert!(!names.contains(&OsStr::new("CARGO_PKG_NAME")), "{names:?}");
    }
}
