//! A process of the helper program.

use super::lock;
use openagents_core::{
    helper::{Log, describe},
    model::ModelError,
};
use std::{
    io::{BufRead, BufReader, Read},
    path::Path,
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio},
    sync::{
        Arc, Mutex,
        mpsc::{Receiver, channel},
    },
    thread,
    time::{Duration, Instant},
};

/// Time to exit after its input was closed.
const END: Duration = Duration::from_secs(1);

/// Time to read the rest of the log; a child process may hold it open.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// Maximum bytes kept of a log line of the helper.
const LOG_LINE: u64 = 4096;

#[derive(Debug)]
pub(super) struct Process {
    id: u32,
    child: Mutex<Child>,
    log: Arc<Mutex<Log>>,
    /// Disconnected when the whole log was read.
    logged: Mutex<Receiver<()>>,
}

impl Process {
    /// Starts the program and returns it with its output and its input.
    pub(super) fn start(program: &Path) -> Result<(Self, ChildStdout, ChildStdin), ModelError> {
        let cannot = |why: String| {
            ModelError::Unavailable(format!(
                "the helper program {} cannot be started: {why}; install it again",
                program.display()
            ))
        };
        let mut command = Command::new(program);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Ctrl-C in a terminal is meant for this program, which may only stop an answer.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn().map_err(|error| cannot(error.to_string()))?;
        let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(input), Some(output), Some(errors)) = streams else {
            return Err(cannot("it has no streams".to_owned()));
        };
        let log = Arc::<Mutex<Log>>::default();
        let kept = log.clone();
        let (reading, logged) = channel();
        let process = Self { id: child.id(), child: Mutex::new(child), log, logged: Mutex::new(logged) };
        let read = move || {
            read_log(errors, &kept);
            drop(reading);
        };
        if let Err(error) = thread::Builder::new().name("apple-log".to_owned()).spawn(read) {
            process.end();
            return Err(ModelError::Failed(format!("no thread for the helper program: {error}; try again")));
        }
        Ok((process, output, input))
    }

    pub(super) fn id(&self) -> u32 {
        self.id
    }

    /// Waits up to [`END`] for the exit after the input was closed, then kills it.
    pub(super) fn end(&self) {
        if self.wait().is_none() {
            tracing::warn!("the helper program for Foundation Models does not exit and is killed");
            let mut child = lock(&self.child);
            let _ = child.kill().and_then(|()| child.wait());
        }
    }

    /// Describes how it ended.
    pub(super) fn describe_end(&self) -> String {
        let status = self.wait();
        // The rest of its log may not be read yet.
        let _ = lock(&self.logged).recv_timeout(LAST_WORDS);
        describe(status, &lock(&self.log))
    }

    fn wait(&self) -> Option<ExitStatus> {
        let started = Instant::now();
        loop {
            match lock(&self.child).try_wait() {
                Ok(None) if started.elapsed() < END => {}
                Ok(status) => return status,
                Err(_) => return None,
            }
            thread::sleep(Duration::from_millis(2));
        }
    }
}

/// Keeps the last lines and forwards them to the log of this process.
fn read_log(errors: ChildStderr, log: &Mutex<Log>) {
    let mut errors = BufReader::new(errors);
    let mut line = Vec::new();
    // Overlong lines are split.
    while (&mut errors).take(LOG_LINE).read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end();
        tracing::debug!(target: "openagents_apple::helper", "{text}");
        lock(log).push(text);
        line.clear();
    }
}
