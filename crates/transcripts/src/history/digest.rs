//! Reduces a transcript to the data for an analysis.

use super::{
    log::{
        action::{Outcome, Task, TaskChange},
        event::{Event, EventKind, TouchedFile},
        title,
    },
    logs::History,
    read::Span,
    transcript::Transcript,
};
use crate::limits;
use openagents_core::{budget::Budget, text::prefix};
use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    ops::ControlFlow,
};

/// The data of one transcript for an analysis.
#[derive(Debug, Default)]
pub struct Digest {
    /// Title given by the agent or the user.
    pub title: Option<String>,
    /// Prompts of the user in order: the first one, and the latest ones.
    pub prompts: Vec<Fact<String>>,
    /// Tool calls: origin hash of the line, and tool name.
    pub calls: Vec<(Option<u64>, String)>,
    /// Touched files by logged path, and whether they were changed.
    pub files: BTreeMap<String, bool>,
    /// Facts about the session, by kind.
    pub facts: Facts,
    /// Number of events read.
    pub events: u64,
    /// Number of unreadable lines.
    pub omitted: u64,
    /// The log was not read completely.
    pub partial: bool,
}

impl History {
    /// Reduces a transcript, including its title, which needs a second pass over the log.
    pub fn digest(&self, transcript: &Transcript, budget: &Budget) -> io::Result<Digest> {
        let mut digest = self.digest_with_lines(transcript, &BTreeSet::new(), budget)?;
        digest.title = self.given_title(transcript, budget);
        Ok(digest)
    }

    /// Reduces a transcript without its title. A long one is read at both ends, and in these lines between them.
    pub fn digest_with_lines(
        &self,
        transcript: &Transcript,
        lines: &BTreeSet<u64>,
        budget: &Budget,
    ) -> io::Result<Digest> {
        let mut digest = Digest::default();
        let span = Span { bytes: limits::DIGEST_HEAD, tail_bytes: limits::DIGEST_TAIL, ..Span::default() };
        let end = self.read_with_lines(transcript, span, lines, budget, &mut |event| {
            digest.add(event, transcript.subagent);
            ControlFlow::Continue(())
        })?;
        digest.omitted = end.bad_lines + end.long_lines;
        digest.partial = end.capped || end.stopped;
        Ok(digest)
    }
}

impl Digest {
    fn add(&mut self, event: Event, of_subagent: bool) {
        if event.copied || event.undone {
            return;
        }
        self.facts.add(&event);
        for file in &event.files {
            *self.files.entry(file.path.clone()).or_default() |= file.edited;
        }
        match &event.kind {
            // The list's rules choose the title: see `given_title`.
            EventKind::Title(_) | EventKind::CommandEnd | EventKind::Compaction => return,
            EventKind::Prompt if event.text == title::IMAGE_ONLY => {}
            EventKind::Prompt if of_subagent || !event.sidechain => {
                if self.prompts.len() == limits::PROMPTS {
                    self.prompts.remove(1);
                }
                let text = prefix(&event.text, limits::PROMPT).to_owned();
                self.prompts.push(Fact::new(&event, text));
            }
            EventKind::ToolCall { name } => self.calls.push((event.origin, name.clone())),
            _ => {}
        }
        self.events += 1;
    }
}

/// Facts of one transcript, each list in line order.
#[derive(Debug, Default)]
pub struct Facts {
    /// Files read or changed by tools.
    pub touched: Vec<Fact<TouchedFile>>,
    /// Commands that were run.
    pub commands: Vec<Fact<Ran>>,
    pub messages: Vec<Fact<String>>,
    /// The last task list of the agent.
    pub tasks: Option<Fact<Vec<Task>>>,
}

#[derive(Debug, Clone)]
pub struct Fact<T> {
    /// From 1; 0 if unknown.
    pub line: u64,
    /// Milliseconds since the epoch.
    pub at: Option<i64>,
    /// See [`Event::origin`].
    pub origin: Option<u64>,
    call: Option<String>,
    pub what: T,
}

#[derive(Debug, Clone)]
pub struct Ran {
    /// Without the wrapping shell.
    pub command: String,
    /// Absent if the log does not contain it.
    pub exit_code: Option<i32>,
}

impl<T> Fact<T> {
    pub(super) fn new(event: &Event, what: T) -> Self {
        let call = event.action.call.clone();
        Self { line: event.line, at: event.timestamp, origin: event.origin, call, what }
    }
}

impl Facts {
    /// Adds the facts of an event except its prompt or title.
    pub fn add(&mut self, event: &Event) {
        let action = &event.action;
        match &event.kind {
            EventKind::Assistant if !event.sidechain => self.message(event),
            EventKind::ToolCall { .. } => {
                self.touched(event);
                self.command(event);
                if !event.sidechain
                    && let Some(change) = &action.tasks
                {
                    self.task(event, change);
                }
            }
            EventKind::FileChange => self.touched(event),
            EventKind::ToolResult => {
                if let (Some(call), Some(outcome)) = (&action.call, action.outcome) {
                    self.end(call, outcome);
                }
                if matches!(action.outcome, Some(Outcome::Exit(0)) | None) {
                    self.touched(event);
                }
            }
            EventKind::CommandEnd => self.late_command(event),
            _ => {}
        }
    }

    fn message(&mut self, event: &Event) {
        if self.messages.len() == limits::MESSAGES {
            self.messages.remove(0);
        }
        self.messages.push(Fact::new(event, prefix(&event.text, limits::MESSAGE).to_owned()));
    }

    fn touched(&mut self, event: &Event) {
        let call = &event.action.call;
        for file in &event.files {
            // The result of an edit repeats its file.
            let same = |known: &Fact<TouchedFile>| {
                known.what == *file
                    && (call.is_some() && known.call == *call || event.kind == EventKind::FileChange)
            };
            let known = self.touched.iter().rev().take(limits::NEAR).any(same);
            if !known && self.touched.len() < limits::ACTIONS {
                self.touched.push(Fact::new(event, file.clone()));
            }
        }
    }

    fn command(&mut self, event: &Event) {
        let Some(command) = event.action.command.clone() else { return };
        let exit_code = match event.action.outcome {
            Some(Outcome::NotRun) => return,
            Some(Outcome::Exit(code)) => Some(code),
            None => None,
        };
        if self.commands.len() < limits::ACTIONS {
            self.commands.push(Fact::new(event, Ran { command, exit_code }));
        }
    }

    /// Records the outcome of a call; drops a refused call.
    fn end(&mut self, call: &str, outcome: Outcome) {
        let is_call = |other: &Option<String>| other.as_deref() == Some(call);
        match self.commands.iter().rposition(|ran| is_call(&ran.call)) {
            Some(at) => self.end_command(at, outcome),
            None if outcome == Outcome::NotRun => self.touched.retain(|file| !is_call(&file.call)),
            None => {}
        }
    }

    fn end_command(&mut self, at: usize, outcome: Outcome) {
        match outcome {
            Outcome::Exit(code) => self.commands[at].what.exit_code = Some(code),
            Outcome::NotRun => drop(self.commands.remove(at)),
        }
    }

    /// Records the end of a command whose call is elsewhere or only inside a script.
    fn late_command(&mut self, event: &Event) {
        let action = &event.action;
        let is_it = |ran: &Fact<Ran>| {
            action.call.is_some() && ran.call == action.call
                || ran.what.exit_code.is_none() && Some(&ran.what.command) == action.command.as_ref()
        };
        let from = self.commands.len().saturating_sub(limits::NEAR);
        match (self.commands[from..].iter().rposition(is_it), action.outcome) {
            (Some(at), Some(outcome)) => self.end_command(from + at, outcome),
            _ => self.command(event),
        }
    }

    fn task(&mut self, event: &Event, change: &TaskChange) {
        let mut tasks = self.tasks.take().map(|fact| fact.what).unwrap_or_default();
        match change {
            TaskChange::All(all) => tasks.clone_from(all),
            TaskChange::Added(text) => tasks.push(Task { text: text.clone(), done: false }),
            TaskChange::Marked { number, done } => {
                if let Some(task) = number.checked_sub(1).and_then(|at| tasks.get_mut(at)) {
                    task.done = *done;
                }
            }
        }
        self.tasks = Some(Fact::new(event, tasks));
    }
}
