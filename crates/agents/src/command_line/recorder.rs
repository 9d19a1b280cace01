//! Records one turn in a session's log.

use crate::output::{CallNews, Role, Shown, Timeline};
use openagents_core::{
    agent::{AgentEvent, AgentHost, PromptOutcome},
    update::{Location, RunState, ToolContent, new_id},
};
use std::{collections::HashSet, time::Instant};

pub(super) struct Recorder<'a> {
    host: &'a dyn AgentHost,
    timeline: Timeline,
    edits: HashSet<String>,
}

impl<'a> Recorder<'a> {
    pub(super) fn new(host: &'a dyn AgentHost) -> Self {
        let mut timeline = Timeline::default();
        timeline.begin_turn(Instant::now());
        Self { host, timeline, edits: HashSet::new() }
    }

    pub(super) fn record(&mut self, event: Event) {
        let now = Instant::now();
        match event {
            // Each event is a whole message.
            Event::Message(text) => self.timeline.text(now, Role::Message, &text, Some(new_id())),
            Event::Thought(text) => self.timeline.text(now, Role::Thought, &text, Some(new_id())),
            Event::Call(mut news) => {
                self.keep_diff(&mut news);
                self.timeline.call(now, news, false);
            }
            Event::Session(_) | Event::Done | Event::Failed(_) => {}
        }
        self.emit();
    }

    /// Drops the result of an edit, which has less information than its diff.
    fn keep_diff(&mut self, news: &mut CallNews) {
        let is_diff = |piece: &Shown| matches!(piece, Shown::Fixed(ToolContent::Diff { .. }));
        if news.shown.iter().flatten().any(is_diff) {
            self.edits.insert(news.id.clone());
        } else if self.edits.contains(&news.id) {
            news.shown = None;
        }
    }

    pub(super) fn note(&mut self, text: &str) {
        self.timeline.note(Instant::now(), text);
        self.emit();
    }

    pub(super) fn tick(&mut self) {
        self.timeline.tick(Instant::now());
        self.emit();
    }

    pub(super) fn complete(self) -> PromptOutcome {
        let text = if self.timeline.last_message().is_empty() { "Done." } else { "" };
        self.end(RunState::Complete, "the turn ended before it did", text)
    }

    /// Ends the turn; with an empty `text`, the last message is the outcome.
    pub(super) fn end(mut self, state: RunState, unfinished: &str, text: &str) -> PromptOutcome {
        self.timeline.end_turn(Instant::now(), state, unfinished, text);
        self.emit();
        let text = if text.is_empty() { self.timeline.last_message() } else { text }.to_owned();
        PromptOutcome::new(state, text)
    }

    fn emit(&mut self) {
        self.timeline.take().into_iter().for_each(|update| self.host.emit(AgentEvent::Update(update)));
    }
}

#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "most events are calls, and none is kept")]
pub(super) enum Event {
    /// The program's id for the session.
    Session(String),
    Message(String),
    Thought(String),
    Call(CallNews),
    Done,
    /// The turn has failed, for this reason (a clause).
    Failed(String),
}

pub(super) fn location(path: &str) -> Location {
    Location { path: path.to_owned(), line: None }
}
