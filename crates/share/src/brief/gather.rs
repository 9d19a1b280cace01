//! Reads from a log what a brief may say.

use super::{
    files::LastChange,
    sections::{Line, Section},
    sentences::{constraints, decisions},
};
use crate::{controls::without_controls, secrets::SecretSearch};
use openagents_core::budget::Budget;
use openagents_transcripts::history::{
    Event, EventKind, Facts, History, Outcome, Span, TaskChange, Transcript,
};
use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
    io,
    ops::ControlFlow,
    path::Path,
};

/// Maximum numbers of lines.
const MOST_LATER: usize = 8;
const MOST_CONSTRAINTS: usize = 12;
const MOST_DECISIONS: usize = 12;
const MOST_FILES: usize = 30;
const COMMANDS: usize = 10;
const FAILED: usize = 8;
const OPEN: usize = 10;
/// Maximum bytes of a command's output that are looked at.
const OUTPUT: usize = 4_000;

/// How every brief begins.
pub(super) const BEGINNING: &str = "You take over work that ";

/// Headings of the sections that a later brief repeats.
const TASK: &str = "Task";
const CONSTRAINTS: &str = "Constraints";
const DECISIONS: &str = "Decided or found";
const FILES: &str = "Files";

/// How Claude Code's result of a denied call begins, and what is written before the user's reason.
const DENIAL: &str = "The user doesn't want to";
const REASONS: [&str; 2] = ["the user said:", "reason for the rejection:"];
/// What Claude Code's adapter for ACP writes; the user's reason follows as a prompt.
const DENIED_OVER_ACP: &str = "User refused permission to run tool";

#[derive(Debug, Default)]
pub(super) struct Gathered {
    prompts: Vec<(u64, String)>,
    constraints: Vec<(u64, String)>,
    decisions: Vec<(u64, String)>,
    /// By path as logged, the line and the text of the last change.
    files: BTreeMap<String, (u64, LastChange)>,
    commands: Vec<Command>,
    plan: Option<(u64, String)>,
    last_answer: Option<(u64, String)>,
    /// Calls without a result: what they were for, and what they change if they run.
    open: HashMap<String, (Pending, Vec<FileChange>)>,
    /// A call that the user just denied without a reason: the next prompt may be the reason.
    denied: Option<String>,
    /// The lines in which tasks were last written down.
    task_lines: HashMap<String, u64>,
    /// The last event is a prompt or a call: the turn did not end.
    is_stopped: Option<u64>,
    facts: Facts,
    pub(super) secrets: SecretSearch,
    /// Bytes of all texts.
    pub(super) bytes: usize,
}

#[derive(Debug)]
struct Command {
    line: u64,
    command: String,
    exit_code: Option<i32>,
    output: String,
}

/// The path as logged, the line, and what it writes.
type FileChange = (String, (u64, LastChange));

#[derive(Debug)]
enum Pending {
    /// Its place in the list of commands.
    Command(usize),
    Question,
    Plan(String),
    Other(String),
}

impl Gathered {
    pub(super) fn read(history: &History, session: &Transcript, budget: &Budget) -> io::Result<Self> {
        let mut gathered = Self::default();
        let read = history.read_transcript(session, Span::with_long_lines(), budget, &mut |event| {
            let is_own = session.subagent || !event.sidechain;
            // The copied lines of a resumed session are a part of its conversation.
            if is_own && !event.undone {
                gathered.add(event);
            }
            ControlFlow::Continue(())
        })?;
        match read.stopped {
            true => Err(io::Error::new(io::ErrorKind::TimedOut, "the session was not read in time")),
            false => Ok(gathered),
        }
    }

    fn add(&mut self, mut event: Event) {
        if let Cow::Owned(plain) = without_controls(&event.text) {
            event.text = plain;
        }
        self.bytes += event.text.len();
        self.secrets.look(&event.readable_text(), event.line);
        self.facts.add(&event);
        match &event.action.tasks {
            Some(TaskChange::Added(text)) => drop(self.task_lines.insert(text.clone(), event.line)),
            Some(TaskChange::All(all)) => {
                self.task_lines.extend(all.iter().map(|task| (task.text.clone(), event.line)));
            }
            Some(TaskChange::Marked { .. }) | None => {}
        }
        match &event.kind {
            EventKind::Prompt => {
                self.is_stopped = Some(event.line);
                self.prompt(event.line, event.text);
            }
            EventKind::Assistant => {
                (self.is_stopped, self.denied) = (None, None);
                self.decisions.extend(decisions(&event.text).map(|text| (event.line, text.to_owned())));
                self.last_answer = Some((event.line, event.text));
            }
            EventKind::ToolCall { name } => {
                self.is_stopped = Some(event.line);
                let name = name.clone();
                self.call(&name, event);
            }
            EventKind::ToolResult => self.result(event),
            EventKind::Thinking
            | EventKind::FileChange
            | EventKind::CommandEnd
            | EventKind::Compaction
            | EventKind::Title(_) => {}
        }
    }

    fn prompt(&mut self, line: u64, text: String) {
        let Some(earlier) = text.strip_prefix(BEGINNING) else {
            match self.denied.take() {
                Some(what) => self.constraints.push((line, format!("Denied {what}: “{text}”"))),
                None => self.constraints.extend(constraints(&text).map(|text| (line, text.to_owned()))),
            }
            self.prompts.push((line, text));
            return;
        };
        // A brief of an earlier session: what it says still holds, and what the user added to it is a prompt.
        let mut added: Vec<&str> = Vec::new();
        for brief_line in lines_of(earlier) {
            match brief_line {
                BriefLine::Quoted(TASK, quoted) => self.prompts.push((line, quoted.to_owned())),
                BriefLine::Quoted(CONSTRAINTS, quoted) => self.constraints.push((line, quoted.to_owned())),
                BriefLine::Quoted(DECISIONS, quoted) => self.decisions.push((line, quoted.to_owned())),
                BriefLine::Quoted(FILES, quoted) => {
                    let path = quoted.rsplit_once(": ").map_or(quoted, |(path, _)| path).to_owned();
                    self.files.insert(path, (line, LastChange::default()));
                }
                BriefLine::Quoted(..) => {}
                BriefLine::Other(text) => added.push(text),
            }
        }
        if !added.is_empty() {
            let text = added.join("\n");
            self.constraints.extend(constraints(&text).map(|text| (line, text.to_owned())));
            self.prompts.push((line, text));
        }
    }

    fn call(&mut self, name: &str, event: Event) {
        let Event { line, files, action, .. } = event;
        let input = action.input.as_ref();
        let edited = files.iter().filter(|file| file.edited);
        let changes: Vec<FileChange> =
            edited.map(|file| (file.path.clone(), (line, LastChange::of(&file.path, input)))).collect();
        let plan = input.and_then(|input| input.get("plan")).and_then(|plan| plan.as_str());
        let pending = match (&action.command, name) {
            (Some(command), _) => {
                let (command, exit_code) = (command.clone(), None);
                self.commands.push(Command { line, command, exit_code, output: String::new() });
                Pending::Command(self.commands.len() - 1)
            }
            (None, "AskUserQuestion" | "request_user_input" | "question") => Pending::Question,
            (None, "ExitPlanMode" | "exit_plan_mode") => Pending::Plan(plan.unwrap_or_default().to_owned()),
            (None, _) => {
                let file = files.first().map(|file| format!(" {}", file.path)).unwrap_or_default();
                Pending::Other(format!("{name}{file}"))
            }
        };
        match action.call {
            Some(call) => drop(self.open.insert(call, (pending, changes))),
            None => self.files.extend(changes),
        }
    }

    fn result(&mut self, event: Event) {
        let Event { line, text, action, .. } = event;
        let (pending, changes) = action.call.as_ref().and_then(|call| self.open.remove(call)).unzip();
        // A patch that does not apply changes nothing.
        if matches!(action.outcome, None | Some(Outcome::Exit(0))) {
            self.files.extend(changes.into_iter().flatten());
        }
        if action.outcome == Some(Outcome::NotRun) && is_denial(&text) {
            let what = match &pending {
                Some(Pending::Command(at)) => self.commands[*at].command.clone(),
                Some(Pending::Other(call)) => call.clone(),
                Some(Pending::Plan(_)) => "the plan".to_owned(),
                Some(Pending::Question) | None => "a call".to_owned(),
            };
            match reason_of_denial(&text) {
                Some(reason) => self.constraints.push((line, format!("Denied {what}: “{reason}”"))),
                None if text.trim_start().starts_with(DENIED_OVER_ACP) => self.denied = Some(what),
                None => {}
            }
        }
        match pending {
            Some(Pending::Command(at)) => {
                let command = &mut self.commands[at];
                if let Some(Outcome::Exit(code)) = action.outcome {
                    let text = without_codex_head(&text);
                    let start = text.ceil_char_boundary(text.len().saturating_sub(OUTPUT));
                    (command.line, command.exit_code, command.output) =
                        (line, Some(code), text[start..].to_owned());
                }
            }
            Some(Pending::Question) if action.outcome != Some(Outcome::NotRun) => {
                self.decisions.push((line, text));
            }
            Some(Pending::Plan(plan)) if action.outcome != Some(Outcome::NotRun) => {
                self.decisions.push((line, format!("Approved plan: {plan}")));
                self.plan = Some((line, plan));
            }
            _ => {}
        }
    }

    /// Returns the sections in the order in which they are shown.
    pub(super) fn sections(&self, session: &Transcript) -> Vec<Section> {
        let section = |heading, rank, lines| Section { heading, rank, lines };
        vec![
            section(TASK, 0, self.task()),
            section("Later requests", 3, self.later_requests()),
            section(CONSTRAINTS, 1, quoted(&self.constraints, MOST_CONSTRAINTS)),
            section(DECISIONS, 4, quoted(&self.decisions, MOST_DECISIONS)),
            section(FILES, 2, self.changed_files(session)),
            section("Commands", 5, self.last_commands()),
            section("Open", 1, self.open_ends()),
            section("Last messages", 0, self.last_messages()),
        ]
    }

    fn task(&self) -> Vec<Line> {
        const ROOM: usize = 600;
        let Some((line, first)) = self.prompts.first() else { return vec![] };
        let is_short = first.chars().count() < 60 && first.to_lowercase().contains("plan");
        match &self.plan {
            Some((line, plan)) if is_short => vec![Line::new(*line, format!("{first}: {plan}"), ROOM)],
            _ => vec![Line::new(*line, first.clone(), ROOM)],
        }
    }

    /// The prompts between the first and the last one.
    fn later_requests(&self) -> Vec<Line> {
        let between = self.prompts.get(1..self.prompts.len().saturating_sub(1)).unwrap_or_default();
        newest(between, MOST_LATER).map(|(line, text)| Line::new(*line, text.clone(), 200)).collect()
    }

    fn changed_files(&self, session: &Transcript) -> Vec<Line> {
        let [logged, now] =
            [session.cwd.as_deref(), session.folder()].map(|folder| folder.unwrap_or(Path::new("")));
        let mut files: Vec<_> = self.files.iter().collect();
        files.sort_by_key(|(_, (line, _))| *line);
        let described = newest(&files, MOST_FILES).map(|(path, (line, change))| {
            let near = Path::new(path).strip_prefix(logged).unwrap_or(Path::new(path));
            Line::new(*line, format!("{}: {}", near.display(), change.state(now, near)), 300)
        });
        described.collect()
    }

    /// The last run of each command, with the output of those that failed.
    fn last_commands(&self) -> Vec<Line> {
        let mut last: BTreeMap<&str, &Command> = BTreeMap::new();
        for command in &self.commands {
            last.insert(&command.command, command);
        }
        let mut last: Vec<&Command> = last.into_values().collect();
        last.sort_by_key(|command| command.line);
        let (failed, others): (Vec<&Command>, Vec<_>) =
            last.into_iter().partition(|command| command.exit_code.is_some_and(|code| code != 0));
        let mut lines: Vec<Line> = newest(&failed, FAILED)
            .chain(newest(&others, COMMANDS))
            .map(|command| command.described())
            .collect();
        lines.sort_by_key(|line| line.line);
        lines
    }

    fn open_ends(&self) -> Vec<Line> {
        let mut lines = Vec::new();
        if let Some(failed) =
            self.commands.last().filter(|command| command.exit_code.is_some_and(|code| code != 0))
        {
            lines.push(Line::new(failed.line, format!("The last command failed: {}", failed.command), 200));
        }
        if let Some((line, answer)) = &self.last_answer {
            let last = answer.trim().lines().last().unwrap_or_default();
            if last.trim_end().ends_with(['?', '？']) {
                lines.push(Line::new(*line, format!("Question to the user: {last}"), 200));
            }
        }
        if let Some(line) = self.is_stopped {
            lines.push(Line::new(line, "The turn was stopped here".to_owned(), 200));
        }
        if let Some(fact) = &self.facts.tasks {
            let open = fact.what.iter().filter(|task| !task.done);
            let line = |text: &str| self.task_lines.get(text).copied().unwrap_or(fact.line);
            lines.extend(open.map(|task| Line::new(line(&task.text), format!("To do: {}", task.text), 200)));
        }
        lines.truncate(OPEN);
        lines
    }

    fn last_messages(&self) -> Vec<Line> {
        let mut lines = Vec::new();
        // The first prompt is the task.
        if let [_, .., (line, prompt)] = self.prompts.as_slice() {
            lines.push(Line::new(*line, format!("User: {prompt}"), 400));
        }
        lines.extend(
            self.last_answer.as_ref().map(|(line, text)| Line::new(*line, format!("Agent: {text}"), 800)),
        );
        lines.sort_by_key(|line| line.line);
        lines
    }
}

impl Line {
    fn new(line: u64, text: String, room: usize) -> Self {
        Self { text, line, room, output: None }
    }
}

impl Command {
    fn described(&self) -> Line {
        let command = &self.command;
        let (outcome, is_failed) = match self.exit_code {
            Some(0) => (" → succeeded".to_owned(), false),
            Some(code) => (format!(" → exit code {code}"), true),
            None => (String::new(), false),
        };
        let output = Some(self.output.trim().to_owned()).filter(|output| is_failed && !output.is_empty());
        Line { output, ..Line::new(self.line, format!("`{command}`{outcome}"), 300) }
    }
}

/// Returns whether a call was not run because the user denied it: in a terminal, or over ACP.
fn is_denial(result: &str) -> bool {
    let result = result.trim_start();
    result.starts_with(DENIAL) || result.starts_with(DENIED_OVER_ACP)
}

/// Returns the output of a command without what Codex writes before it.
fn without_codex_head(text: &str) -> &str {
    let has_head = ["Exit code: ", "Chunk ID: ", "Wall time: "].iter().any(|head| text.starts_with(head));
    match text.split_once("\nOutput:\n") {
        Some((_, output)) if has_head => output,
        _ => text,
    }
}

/// Returns what the user answered instead of allowing a call. Other failures of a call may contain any text.
fn reason_of_denial(result: &str) -> Option<&str> {
    let denied = result.trim_start().strip_prefix(DENIAL)?;
    REASONS
        .iter()
        .find_map(|words| Some(denied.split_once(words)?.1.trim()))
        .filter(|reason| !reason.is_empty())
}

/// A line of a brief.
enum BriefLine<'a> {
    /// With its heading, without the line of the log that it quotes.
    Quoted(&'a str, &'a str),
    /// Written by the user.
    Other(&'a str),
}

/// Returns the lines of a brief below its head, without the output of commands.
fn lines_of(brief: &str) -> Vec<BriefLine<'_>> {
    let (mut heading, mut fence, mut lines) = ("", None, Vec::new());
    for line in brief.lines().skip(1) {
        let ticks = line.len() - line.trim_start_matches('`').len();
        match fence {
            Some(opened) if ticks >= opened && line.len() == ticks => fence = None,
            Some(_) => {}
            None if ticks >= 3 => fence = Some(ticks),
            None => match (line.strip_prefix("## "), line.strip_prefix("- ")) {
                (Some(begun), _) => heading = begun,
                (_, Some(quoted)) if line.ends_with(']') => {
                    let text = quoted.rsplit_once(" [").map_or(quoted, |(text, _)| text);
                    lines.push(BriefLine::Quoted(heading, text));
                }
                _ if line.trim().is_empty() || line.ends_with(" more lines)") || line == "(1 more line)" => {}
                _ => lines.push(BriefLine::Other(line)),
            },
        }
    }
    lines
}

/// Returns the newest sentences, each once.
fn quoted(all: &[(u64, String)], most: usize) -> Vec<Line> {
    let mut newest: Vec<Line> = Vec::new();
    for (line, text) in all.iter().rev() {
        if newest.len() < most && !newest.iter().any(|other| other.text == *text) {
            newest.push(Line::new(*line, text.clone(), 300));
        }
    }
    newest.reverse();
    newest
}

fn newest<T>(all: &[T], most: usize) -> impl Iterator<Item = &T> {
    all[all.len().saturating_sub(most)..].iter()
}
