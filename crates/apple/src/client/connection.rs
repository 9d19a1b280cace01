//! A connection to a running helper: concurrent answers over one pair of streams.

use super::{lock, process::Process};
use crate::{
    availability::Unavailability,
    protocol::{Command, Line, MAX_LINE, Report, VERSION, read_line},
};
use openagents_core::{CancellationToken, model::ModelError};
use serde::Deserialize;
use std::{
    collections::HashMap,
    fmt,
    io::{self, BufReader, Read, Write},
    path::Path,
    sync::{Arc, Condvar, Mutex, PoisonError, mpsc},
    thread,
    time::{Duration, Instant},
};

/// Time until the first message.
const HELLO: Duration = Duration::from_secs(20);

/// Interval of checks for a cancel.
pub(super) const LOOK: Duration = Duration::from_millis(20);

/// A connection to a helper.
pub struct Connection {
    /// Lines for the helper; its input closes when this is dropped. Written by a thread: a helper that does not read
    /// must not block a cancel.
    input: Mutex<Option<mpsc::Sender<Vec<u8>>>>,
    shared: Arc<Shared>,
    process: Option<Process>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    hello: Option<(String, Option<Unavailability>)>,
    last: u64,
    /// Receivers of reports, by command id.
    waiting: HashMap<u64, mpsc::Sender<Report>>,
    closed: bool,
}

impl Connection {
    /// Starts the program. It is stopped when the connection is dropped.
    pub(super) fn start(program: &Path) -> Result<Self, ModelError> {
        let (process, output, input) = Process::start(program)?;
        let mut connection = Self::over(output, input)?;
        connection.process = Some(process);
        Ok(connection)
    }

    /// Connects over these streams.
    pub fn over(
        output: impl Read + Send + 'static,
        mut input: impl Write + Send + 'static,
    ) -> Result<Self, ModelError> {
        let no_thread = |error: io::Error| {
            ModelError::Failed(format!("no thread for the helper program: {error}; close other programs"))
        };
        let shared = Arc::<Shared>::default();
        let (sender, lines) = mpsc::channel::<Vec<u8>>();
        let write = move || {
            while let Ok(line) = lines.recv() {
                if input.write_all(&line).and_then(|()| input.flush()).is_err() {
                    return;
                }
            }
        };
        thread::Builder::new().name("apple-input".to_owned()).spawn(write).map_err(no_thread)?;
        let reading = shared.clone();
        let read = move || reading.read(output);
        thread::Builder::new().name("apple-reports".to_owned()).spawn(read).map_err(no_thread)?;
        Ok(Self { input: Mutex::new(Some(sender)), shared, process: None })
    }

    /// Waits for the first message, and returns why the model is not available; `None` if it is.
    pub(super) fn greet(&self, cancel: &CancellationToken) -> Result<Option<Unavailability>, ModelError> {
        let started = Instant::now();
        let said = |state: &State| state.hello.is_some() || state.closed;
        while !self.shared.wait_until(LOOK, said) && started.elapsed() < HELLO {
            if cancel.is_cancelled() {
                return Err(ModelError::Cancelled);
            }
        }
        let hello = lock(&self.shared.state).hello.clone();
        match hello {
            Some((version, unavailable)) if version == VERSION => Ok(unavailable),
            Some((version, _)) => Err(ModelError::Unavailable(format!(
                "the helper program for Foundation Models has version {version}, but {VERSION} is needed; install both again"
            ))),
            None => Err(ModelError::Unavailable(format!(
                "the helper program for Foundation Models does not respond ({}); install it again",
                self.describe_end()
            ))),
        }
    }

    /// Returns whether the helper is connected.
    pub(super) fn is_open(&self) -> bool {
        !lock(&self.shared.state).closed
    }

    /// Returns the process id of the helper; `None` if it is not a separate process.
    pub(super) fn process_id(&self) -> Option<u32> {
        self.process.as_ref().map(Process::id)
    }

    /// Sends a command, and returns its id and its reports.
    pub(super) fn ask(
        &self,
        command: impl FnOnce(u64) -> Command,
    ) -> Result<(u64, mpsc::Receiver<Report>), ModelError> {
        let (sender, reports) = mpsc::channel();
        let id = {
            let mut state = lock(&self.shared.state);
            state.last += 1;
            let id = state.last;
            // After the end, the reports end at once.
            if !state.closed {
                state.waiting.insert(id, sender);
            }
            id
        };
        match self.send(&command(id)) {
            Ok(()) => Ok((id, reports)),
            Err(error) => {
                self.forget(id);
                Err(error)
            }
        }
    }

    /// Sends a command without reports of its own.
    pub(super) fn send(&self, command: &Command) -> Result<(), ModelError> {
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

    /// Drops later reports of this command.
    pub(super) fn forget(&self, id: u64) {
        lock(&self.shared.state).waiting.remove(&id);
    }

    /// Describes how the helper ended.
    pub(super) fn describe_end(&self) -> String {
        self.process.as_ref().map_or_else(|| "it closed the connection".to_owned(), Process::describe_end)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        *lock(&self.input) = None;
        if let Some(process) = &self.process {
            process.end();
        }
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Connection").field("process", &self.process).finish_non_exhaustive()
    }
}

impl Shared {
    /// Forwards reports until the stream ends.
    fn read(&self, output: impl Read) {
        let mut output = BufReader::new(output);
        let mut line = Vec::new();
        loop {
            match read_line(&mut output, &mut line, MAX_LINE) {
                Ok(Line::Read) => match serde_json::from_slice(&line) {
                    Ok(report) => self.pass_on(report),
                    Err(error) => self.unread(&line, &error.to_string()),
                },
                Ok(Line::TooLong) => self.unread(&[], "the line is too long"),
                Ok(Line::End) | Err(_) => break,
            }
        }
        let mut state = lock(&self.state);
        state.closed = true;
        // Ends the reports of waiting callers.
        state.waiting.clear();
        self.changed.notify_all();
    }

    fn pass_on(&self, report: Report) {
        if let Report::Hello { version, unavailable } = report {
            lock(&self.state).hello = Some((version, unavailable));
            self.changed.notify_all();
            return;
        }
        match report.id() {
            // Reports of an abandoned command are dropped.
            Some(id) => {
                if let Some(sender) = lock(&self.state).waiting.get(&id) {
                    let _ = sender.send(report);
                }
            }
            None => self.unread(&[], "it received an invalid command"),
        }
    }

    /// Fails the commands that an invalid line may belong to, since its content is lost.
    fn unread(&self, line: &[u8], why: &str) {
        #[derive(Deserialize)]
        struct About {
            id: Option<u64>,
        }
        tracing::warn!("the helper program sent an invalid line: {why}");
        let about = serde_json::from_slice::<About>(line).ok().and_then(|about| about.id);
        let error = || {
            ModelError::Failed(format!(
                "the helper program sent a line that cannot be read ({why}); try again"
            ))
        };
        for (id, sender) in &lock(&self.state).waiting {
            if about.is_none_or(|about| about == *id) {
                let _ = sender.send(Report::Failed { id: Some(*id), error: error() });
            }
        }
    }

    /// Waits up to `time` for a condition; returns whether it became true.
    fn wait_until(&self, time: Duration, done: impl Fn(&State) -> bool) -> bool {
        let state = lock(&self.state);
        let waited = self.changed.wait_timeout_while(state, time, |state| !done(state));
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        done(&state)
    }
}
