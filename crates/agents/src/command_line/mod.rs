//! Codex and Claude Code without an ACP adapter: one run of the program per prompt, which prints one JSON object per
//! line.
//!
//! These runs can't ask for permission. No command-line switch extends their permissions, so a run may do what the
//! program's own settings allow without asking; the program refuses everything else.
//!
//! The folder's settings apply, including hooks, as they do in a terminal. A session hosts no agent in a folder that
//! the user has not trusted, so there is no untrusted start that `--setting-sources user` could make harmless; in a
//! trusted folder, that switch would drop permissions and servers that the user expects. Codex reads `.codex/` only
//! in projects that its own configuration trusts, and we don't change that.
//!
//! A run has the environment of the login shell, including keys but without `OPENAGENTS_*`, as if it had been started
//! in a terminal. The program's own rules decide what it may read and start with it.

mod claude;
mod codex;
mod recorder;
#[cfg(test)]
mod tests;

use crate::{
    command_line::recorder::Event,
    limits::{CANCEL_CHECK, ERRORS, ERRORS_REST, EXIT, LINE, LINES_AHEAD},
    process::{Collected, Group, Groups, Line, exit_in_words, read_lines},
    retention::{self, Place, Retention},
    shell::Environment,
};
use openagents_core::{
    CancellationToken,
    agent::{AgentHost, AgentProvider, AgentRequest, CANCELLED, PromptOutcome},
    agent_ids::CODEX,
    model::Availability,
    update::RunState,
};
use parking_lot::Mutex;
use recorder::Recorder;
use std::{
    collections::HashMap,
    io::Write as _,
    path::{Path, PathBuf},
    process::{ChildStdin, Command, Stdio},
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError},
    },
    thread,
    time::{Duration, SystemTime},
};

#[derive(Debug)]
pub(crate) struct CommandLine {
    id: String,
    name: String,
    program: PathBuf,
    environment: Arc<Environment>,
    retention: Option<Retention>,
    /// Running programs, by our session id.
    running: Mutex<HashMap<String, Arc<Group>>>,
    /// All programs of this agent, including those whose turn is over.
    groups: Groups,
}

enum Stop {
    Cancelled,
    Failed(String),
}

impl CommandLine {
    pub(crate) fn new(
        id: String,
        name: String,
        program: PathBuf,
        environment: Arc<Environment>,
        retention: Option<Retention>,
    ) -> Self {
        let (running, groups) = (Mutex::default(), Groups::default());
        Self { id, name, program, environment, retention, running, groups }
    }

    fn command(&self, request: &AgentRequest) -> Command {
        let mut command = self.environment.command(&self.program);
        let resume = request.resume.as_deref();
        command.args(if self.id == CODEX { codex::arguments(resume) } else { claude::arguments(resume) });
        command.current_dir(&request.root);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn parse_line(&self, line: &[u8]) -> Vec<Event> {
        if self.id == CODEX { codex::parse_line(line) } else { claude::parse_line(line) }
    }

    fn run(
        &self,
        request: &AgentRequest,
        host: &dyn AgentHost,
        recorder: &mut Recorder<'_>,
        cancel: &CancellationToken,
    ) -> Result<(), Stop> {
        if let Some(text) = retention::note(&self.name, self.deletes_next(&request.root, cancel)) {
            recorder.note(&text);
        }
        let (group, streams) = self.groups.start(&mut self.command(request)).map_err(|error| {
            let program = self.program.display();
            Stop::Failed(format!(
                "{}: cannot start {program}: {error}; `openagents doctor` says what to do",
                self.name
            ))
        })?;
        self.running.lock().insert(request.session_id.clone(), group.clone());
        let errors = streams.stderr.and_then(|stream| {
            let words = Collected::last(stream, ERRORS);
            words.inspect_err(|error| tracing::warn!("an agent's errors cannot be read: {error}")).ok()
        });
        if let Some(stdin) = streams.stdin {
            write_prompt(stdin, request.text.clone());
        }
        let lines = streams.stdout.and_then(|stream| {
            let lines = read_lines(stream, LINE, LINES_AHEAD);
            lines.inspect_err(|error| tracing::warn!("an agent's output cannot be read: {error}")).ok()
        });
        let answered = match &lines {
            Some(lines) => self.read_output(lines, host, recorder, cancel),
            None => Ok(false),
        };
        let ended = if matches!(answered, Err(Stop::Cancelled)) { None } else { group.wait(EXIT) };
        self.running.lock().retain(|_, running| !Arc::ptr_eq(running, &group));
        group.stop_soon();
        if answered? {
            return Ok(());
        }
        let how = match ended {
            Some(status) => format!("ended ({}) before it had answered", exit_in_words(status)),
            None => "closed its output before it had answered".to_owned(),
        };
        let limit = if ended.is_some() { ERRORS_REST } else { Duration::ZERO };
        let last = errors.and_then(|words| {
            let text = words.text(limit);
            text.lines().rev().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
        });
        let last = last.map(|last| format!(": {last}")).unwrap_or_default();
        Err(Stop::Failed(format!("{} {how}{last}", self.name)))
    }

    /// Handles the output; returns whether the program ended the turn itself.
    fn read_output(
        &self,
        lines: &Receiver<Line>,
        host: &dyn AgentHost,
        recorder: &mut Recorder<'_>,
        cancel: &CancellationToken,
    ) -> Result<bool, Stop> {
        let mut done = false;
        loop {
            if cancel.is_cancelled() {
                return Err(Stop::Cancelled);
            }
            recorder.tick();
            let line = match lines.recv_timeout(CANCEL_CHECK) {
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
            for event in self.parse_line(&line) {
                match event {
                    Event::Session(id) => host.remember(&id),
                    Event::Failed(why) => return Err(Stop::Failed(format!("{}: {why}", self.name))),
                    Event::Done => done = true,
                    other => recorder.record(other),
                }
            }
        }
    }
}

impl AgentProvider for CommandLine {
    fn id(&self) -> &str {
        &self.id
    }

    fn program(&self, _cancel: &CancellationToken) -> Option<PathBuf> {
        Some(self.program.clone())
    }

    fn name(&self) -> String {
        self.name.clone()
    }

    fn is_local(&self) -> bool {
        false
    }

    fn deletes_next(&self, workspace: &Path, _cancel: &CancellationToken) -> usize {
        let variable = |name: &str| self.environment.get(name)?.to_str().map(str::to_owned);
        let place = Place { variable: &variable, workspace, now: SystemTime::now() };
        self.retention.map_or(0, |retention| retention.count_due(&place))
    }

    /// Availability was checked before this was created.
    fn availability(&self) -> Availability {
        Availability::Ready
    }

    fn prompt(
        &self,
        request: &AgentRequest,
        host: Arc<dyn AgentHost>,
        cancel: &CancellationToken,
    ) -> PromptOutcome {
        let mut recorder = Recorder::new(&*host);
        match self.run(request, &*host, &mut recorder, cancel) {
            Ok(()) => recorder.complete(),
            Err(Stop::Cancelled) => recorder.end(RunState::Cancelled, "cancelled", CANCELLED),
            Err(Stop::Failed(why)) => recorder.end(RunState::Failed, "the turn failed", &format!("❌ {why}")),
        }
    }

    fn close(&self, session_id: &str) {
        if let Some(group) = self.running.lock().remove(session_id) {
            group.stop_soon();
        }
    }

    fn shut_down(&self) {
        self.groups.end();
    }
}

impl Drop for CommandLine {
    fn drop(&mut self) {
        self.running.lock().drain().for_each(|(_, group)| group.stop_soon());
    }
}

/// Writes the prompt on a separate thread, since the program may read it slowly.
fn write_prompt(mut stdin: ChildStdin, text: String) {
    // A program that exits early reports the reason on standard error.
    let work = move || drop(stdin.write_all(text.as_bytes()).and_then(|()| stdin.flush()));
    if let Err(error) = thread::Builder::new().name("agent-prompt".to_owned()).spawn(work) {
        tracing::warn!("cannot write a prompt: {error}");
    }
}
