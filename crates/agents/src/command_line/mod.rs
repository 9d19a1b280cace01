//! Codex and Claude Code without an ACP adapter: one run of their program for each prompt, which prints JSON, one object a
//! line.
//!
//! Nobody can be asked for a permission here. We pass no switch that allows more, so what such a run may do is what the
//! person's own settings of that program allow without asking; everything else is refused by the program itself.
//!
//! Such a run has the environment of the person's login shell, keys and all, without `OPENAGENTS_*`: it is the person's
//! own program, and has what it would have in a terminal. What it may read or start with that is up to its own rules.

mod claude;
mod codex;
mod news;
mod telling;
#[cfg(test)]
mod tests;

use crate::{
    acp::lines::{self, Line},
    process::{Group, LastWords, exit_in_words},
    shell::Environment,
};
use news::News;
use openagents_core::{
    CancellationToken,
    agent::{AgentHost, AgentProvider, AgentRequest, PromptOutcome},
    agent_ids::CODEX,
    model::Availability,
};
use std::{
    collections::HashMap,
    io::{self, BufReader, Read, Write as _},
    path::PathBuf,
    process::{ChildStdin, Command, Stdio},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        mpsc::{self, Receiver, RecvTimeoutError},
    },
    thread,
    time::Duration,
};
use telling::Telling;

/// Bytes of a line: the content of a whole file may be in it.
const LINE: usize = 16 << 20;
/// Bytes of the end of the error stream that are kept.
const ERRORS: usize = 16 << 10;
/// Lines that wait to be told.
const WAITING: usize = 256;
/// How soon a cancel is noticed.
const POLL: Duration = Duration::from_millis(20);
/// How long the last words of a program that has ended are waited for.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// How long a program may take to end that has said its last word.
const END: Duration = Duration::from_secs(2);

/// Codex or Claude Code by its command line.
#[derive(Debug)]
pub(crate) struct CommandLine {
    id: String,
    name: String,
    program: PathBuf,
    environment: Arc<Environment>,
    /// What runs, by our session.
    running: Mutex<HashMap<String, Arc<Group>>>,
}

/// Why a turn has no end of its own.
enum Stop {
    Cancelled,
    Failed(String),
}

impl CommandLine {
    /// Knows a program; starts nothing.
    pub(crate) fn new(id: String, name: String, program: PathBuf, environment: Arc<Environment>) -> Self {
        Self { id, name, program, environment, running: Mutex::default() }
    }

    /// Ends everything that runs, with its whole group. Blocks for 2 s at most.
    pub(crate) fn shut_down(&self) {
        let groups: Vec<_> = self.running().drain().map(|(_, group)| group).collect();
        Group::stop_all(&groups);
    }

    fn running(&self) -> MutexGuard<'_, HashMap<String, Arc<Group>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn command(&self, request: &AgentRequest) -> Command {
        let mut command = self.environment.command(&self.program);
        let resume = request.resume.as_deref();
        command.args(if self.id == CODEX { codex::arguments(resume) } else { claude::arguments(resume) });
        command.current_dir(&request.root);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn read(&self, line: &[u8]) -> Vec<News> {
        if self.id == CODEX { codex::read(line) } else { claude::read(line) }
    }

    fn run(
        &self,
        request: &AgentRequest,
        host: &dyn AgentHost,
        telling: &mut Telling<'_>,
        cancel: &CancellationToken,
    ) -> Result<(), Stop> {
        let (group, streams) = Group::start(&mut self.command(request)).map_err(|error| {
            let program = self.program.display();
            Stop::Failed(format!(
                "{}: cannot start {program}: {error}; `openagents doctor` says what to do",
                self.name
            ))
        })?;
        self.running().insert(request.session_id.clone(), group.clone());
        let errors = streams.stderr.and_then(|stream| {
            let words = LastWords::of(stream, ERRORS);
            words.inspect_err(|error| tracing::warn!("an agent's errors cannot be read: {error}")).ok()
        });
        if let Some(stdin) = streams.stdin {
            write(stdin, request.text.clone());
        }
        let lines = streams.stdout.map(read_lines);
        let heard = match &lines {
            Some(lines) => self.hear(lines, host, telling, cancel),
            None => Ok(false),
        };
        let ended = if matches!(heard, Err(Stop::Cancelled)) { None } else { group.wait(END) };
        self.running().retain(|_, running| !Arc::ptr_eq(running, &group));
        group.stop_soon();
        if heard? {
            return Ok(());
        }
        let how = match ended {
            Some(status) => format!("ended ({}) before it had answered", exit_in_words(status)),
            None => "closed its output before it had answered".to_owned(),
        };
        let limit = if ended.is_some() { LAST_WORDS } else { Duration::ZERO };
        let last = errors.and_then(|words| {
            let text = words.text(limit);
            text.lines().rev().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
        });
        let last = last.map(|last| format!(": {last}")).unwrap_or_default();
        Err(Stop::Failed(format!("{} {how}{last}", self.name)))
    }

    /// Tells what comes; returns whether the turn has ended by itself.
    fn hear(
        &self,
        lines: &Receiver<Line>,
        host: &dyn AgentHost,
        telling: &mut Telling<'_>,
        cancel: &CancellationToken,
    ) -> Result<bool, Stop> {
        let mut done = false;
        loop {
            if cancel.is_cancelled() {
                return Err(Stop::Cancelled);
            }
            let line = match lines.recv_timeout(POLL) {
                Ok(Line::Whole(line)) => line,
                Ok(Line::TooLong) => {
                    let name = &self.name;
                    return Err(Stop::Failed(format!(
                        "{name} printed a line of more than {} MB",
                        LINE >> 20
                    )));
                }
                Ok(Line::End) | Err(RecvTimeoutError::Disconnected) => return Ok(done),
                Err(RecvTimeoutError::Timeout) => continue,
            };
            for news in self.read(&line) {
                match news {
                    News::Session(id) => host.remember(&id),
                    News::Failed(why) => return Err(Stop::Failed(format!("{}: {why}", self.name))),
                    News::Done => done = true,
                    other => telling.tell(other),
                }
            }
        }
    }
}

impl AgentProvider for CommandLine {
    fn id(&self) -> &str {
        &self.id
    }

    fn name(&self) -> String {
        self.name.clone()
    }

    fn is_local(&self) -> bool {
        false
    }

    /// Whether it is there was asked before it was made.
    fn availability(&self) -> Availability {
        Availability::Ready
    }

    fn prompt(
        &self,
        request: &AgentRequest,
        host: Arc<dyn AgentHost>,
        cancel: &CancellationToken,
    ) -> PromptOutcome {
        let mut telling = Telling::new(&*host);
        match self.run(request, &*host, &mut telling, cancel) {
            Ok(()) => telling.complete(),
            Err(Stop::Cancelled) => telling.cancelled(),
            Err(Stop::Failed(why)) => telling.failed(&why),
        }
    }

    fn close(&self, session_id: &str) {
        if let Some(group) = self.running().remove(session_id) {
            group.stop_soon();
        }
    }
}

impl Drop for CommandLine {
    fn drop(&mut self) {
        self.running().drain().for_each(|(_, group)| group.stop_soon());
    }
}

/// Gives a program its prompt, on a thread of its own: it may take its time to read it.
fn write(mut stdin: ChildStdin, text: String) {
    // One that ends before it has read it all says why on its error stream.
    let work = move || drop(stdin.write_all(text.as_bytes()).and_then(|()| stdin.flush()));
    if let Err(error) = spawn("agent-prompt", work) {
        tracing::warn!("a prompt cannot be written: {error}");
    }
}

fn read_lines(output: impl Read + Send + 'static) -> Receiver<Line> {
    let (sender, lines) = mpsc::sync_channel(WAITING);
    let mut output = BufReader::new(output);
    let work = move || {
        loop {
            let line = lines::next(&mut output, LINE);
            let is_last = !matches!(line, Line::Whole(_));
            if sender.send(line).is_err() || is_last {
                return;
            }
        }
    };
    // Without the thread the sender is gone, and nothing is heard.
    if let Err(error) = spawn("agent-output", work) {
        tracing::warn!("an agent cannot be heard: {error}");
    }
    lines
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name(name.to_owned()).spawn(work).map(drop)
}
