//! One agent's output in order. Has no process and no clock; updates are fetched with [`Timeline::take`].

use super::{
    call::{CallNews, one_line},
    calls::Calls,
    notes::{NoteNews, Notes},
};
use crate::limits::{MESSAGE_IDS, OUTCOME_BYTES, PLAN_STEPS};
use openagents_core::{
    agent::{Coalescer, Piece},
    update::{
        AgentMessage, AgentThought, EntryStatus, PlanEntry, PlanSnapshot, RunState, SessionUpdate,
        ToolCallDetails, new_id,
    },
};
use std::{
    collections::{HashSet, VecDeque},
    process::ExitStatus,
    time::Instant,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Message,
    Thought,
}

/// Consecutive text of the same source is one message.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Source {
    role: Role,
    late: bool,
    message_id: String,
    /// The agent's message id, if it sends one.
    theirs: Option<String>,
}

#[derive(Debug, Default)]
pub(crate) struct Timeline {
    coalescer: Coalescer<Source>,
    /// The sources of the last on-time text and of the last late text: neither interrupts the other.
    source: Option<Source>,
    late_source: Option<Source>,
    calls: Calls,
    plan: Option<PlanSnapshot>,
    notes: Notes,
    last_message: String,
    has_output: bool,
    /// The agent's message ids of this turn, and of earlier ones.
    current_ids: HashSet<String>,
    earlier_ids: VecDeque<String>,
    ready: Vec<SessionUpdate>,
}

impl Timeline {
    pub(crate) fn take(&mut self) -> Vec<SessionUpdate> {
        std::mem::take(&mut self.ready)
    }

    /// Adds updates that were made elsewhere.
    pub(super) fn add(&mut self, updates: impl Iterator<Item = SessionUpdate>) {
        self.ready.extend(updates);
    }

    pub(crate) fn due(&self) -> Option<Instant> {
        [self.coalescer.due(), self.calls.due(), self.notes.due()].into_iter().flatten().min()
    }

    pub(crate) fn tick(&mut self, now: Instant) {
        let ripe = self.coalescer.ripe(now);
        self.add_text_updates(ripe);
        self.calls.tick(now, &mut self.ready);
        self.ready.extend(self.notes.take(now));
    }

    pub(crate) fn begin_turn(&mut self, now: Instant) {
        self.flush(now);
        (self.source, self.late_source) = (None, None);
        self.plan = None;
        self.last_message.clear();
        self.has_output = false;
        self.earlier_ids.extend(self.current_ids.drain());
        let over = self.earlier_ids.len().saturating_sub(MESSAGE_IDS);
        self.earlier_ids.drain(..over);
        self.calls.begin_turn();
    }

    /// Separates output before the prompt from the answer to it.
    pub(crate) fn begin_answer(&mut self, now: Instant) {
        self.flush(now);
        (self.source, self.late_source) = (None, None);
        self.last_message.clear();
        self.has_output = false;
    }

    /// Adds a note of ours, separate from the agent's text.
    pub(crate) fn note(&mut self, now: Instant, text: &str) {
        self.flush(now);
        (self.source, self.late_source) = (None, None);
        self.ready.push(SessionUpdate::AgentMessage(AgentMessage {
            text: text.to_owned(),
            message_id: Some(new_id()),
            late: !self.calls.running,
            ..AgentMessage::default()
        }));
    }

    /// Adds text. `theirs` is the agent's message id, if it sends one.
    pub(crate) fn text(&mut self, now: Instant, role: Role, text: &str, theirs: Option<String>) {
        let is_earlier = theirs.as_ref().is_some_and(|id| self.earlier_ids.contains(id));
        let late = !self.calls.running || is_earlier;
        let same = |source: &Source| source.role == role && source.late == late && source.theirs == theirs;
        let last = if late { &mut self.late_source } else { &mut self.source };
        let known = last.take_if(|source| same(source));
        // Codex begins its thoughts with empty lines.
        let text = if known.is_some() { text } else { text.trim_start_matches('\n') };
        if text.is_empty() {
            if known.is_some() {
                *last = known;
            }
            return;
        }
        let source = match known {
            Some(source) => source,
            None => {
                if role == Role::Message && !late {
                    self.last_message.clear();
                }
                Source { role, late, message_id: new_id(), theirs: theirs.clone() }
            }
        };
        if !is_earlier && self.current_ids.len() < MESSAGE_IDS {
            self.current_ids.extend(theirs);
        }
        if role == Role::Message && !late && self.last_message.len() < OUTCOME_BYTES {
            self.last_message.push_str(text);
        }
        self.has_output |= !late;
        let ready = self.coalescer.push(now, source.clone(), text);
        *(if late { &mut self.late_source } else { &mut self.source }) = Some(source);
        self.add_text_updates(ready);
    }

    pub(crate) fn call(&mut self, now: Instant, news: CallNews, announces: bool) -> Option<String> {
        self.flush(now);
        let before = self.ready.len();
        let call_id = self.calls.apply_news(now, news, announces, &mut self.ready);
        let announced =
            self.ready[before..].iter().any(|update| matches!(update, SessionUpdate::ToolCall(_)));
        if announced {
            (self.source, self.late_source) = (None, None);
            self.has_output |= self.calls.running;
        }
        call_id
    }

    /// Announces the call of a permission request unless it is known, and returns our id of it; `None` over the limit.
    pub(crate) fn call_to_allow(&mut self, now: Instant, mut news: CallNews) -> Option<String> {
        news.status = None;
        let is_over = self.calls.is_over(&news.id);
        self.call(now, news, is_over)
    }

    pub(crate) fn details(&self, their_id: &str) -> ToolCallDetails {
        self.calls.details(their_id)
    }

    /// Shows one of our terminals in the call that waits for its command, or in a new row. `None` over the limit.
    pub(crate) fn terminal_row(
        &mut self,
        now: Instant,
        terminal: &str,
        command: &str,
        raw_input: serde_json::Value,
    ) -> Option<String> {
        self.flush(now);
        self.source = None;
        self.has_output = true;
        self.calls.terminal_row(now, terminal, command, raw_input, &mut self.ready)
    }

    pub(crate) fn terminal_output(&mut self, now: Instant, terminal: &str, bytes: &[u8]) {
        self.calls.terminal_output(now, terminal, bytes, &mut self.ready);
    }

    pub(crate) fn terminal_ended(&mut self, now: Instant, terminal: &str, status: ExitStatus) {
        self.calls.terminal_ended(now, terminal, status, &mut self.ready);
    }

    /// Closes the row of a terminal that was never started.
    pub(crate) fn terminal_refused(&mut self, terminal: &str, why: &str) {
        self.calls.terminal_refused(terminal, why, &mut self.ready);
    }

    pub(crate) fn plan(&mut self, now: Instant, steps: impl Iterator<Item = (String, EntryStatus)>) {
        if !self.calls.running {
            return;
        }
        self.flush(now);
        self.has_output = true;
        let old = self.plan.take();
        let op_id = |at: usize| old.as_ref()?.entries.get(at).map(|entry| entry.op_id.clone());
        let entries = steps.take(PLAN_STEPS).enumerate().map(|(at, (content, status))| PlanEntry {
            content: one_line(&content).unwrap_or_default(),
            status,
            op_id: op_id(at).unwrap_or_else(new_id),
            op_hash: 0,
            tool: String::new(),
            error: None,
        });
        let snapshot = PlanSnapshot {
            entries: entries.collect(),
            plan_id: old.as_ref().map_or_else(new_id, |plan| plan.plan_id.clone()),
            goals: Vec::new(),
            state: RunState::Running,
        };
        self.ready.push(SessionUpdate::Plan(snapshot.clone()));
        self.plan = Some(snapshot);
    }

    /// Adds a notice, a compaction or a plan as text, or changes it.
    pub(crate) fn add_note(&mut self, now: Instant, news: NoteNews) {
        let is_notice = matches!(news, NoteNews::Notice { .. });
        if self.notes.apply(now, news) {
            self.flush(now);
            (self.source, self.late_source) = (None, None);
            self.has_output |= self.calls.running && !is_notice;
        }
        self.ready.extend(self.notes.take(now));
    }

    pub(crate) fn has_output(&self) -> bool {
        self.has_output
    }

    pub(crate) fn has_open_calls(&self) -> bool {
        self.calls.calls.iter().any(|call| call.open)
    }

    /// Returns the last message if nothing came after it.
    pub(crate) fn last_words(&self) -> Option<&str> {
        let is_message = |source: &Source| source.role == Role::Message && !source.late;
        self.source.as_ref().is_some_and(is_message).then_some(self.last_message.as_str())
    }

    pub(crate) fn last_message(&self) -> &str {
        &self.last_message
    }

    /// Closes everything open and emits the outcome: `text`, or the end of the last message if `text` is empty.
    pub(crate) fn end_turn(&mut self, now: Instant, state: RunState, unfinished: &str, text: &str) {
        self.flush(now);
        self.calls.end_turn(unfinished, &mut self.ready);
        self.notes.flush();
        self.ready.extend(self.notes.take(now));
        if let Some(mut plan) = self.plan.take() {
            plan.state = state;
            for entry in plan.entries.iter_mut().filter(|entry| entry.status != EntryStatus::Completed) {
                entry.status = EntryStatus::Completed;
                entry.error = Some("not run".to_owned());
            }
            self.ready.push(SessionUpdate::Plan(plan));
        }
        let last = self.source.take().filter(|last| last.role == Role::Message && !last.late);
        let message_id = match last {
            Some(last) if text.is_empty() => last.message_id,
            _ => new_id(),
        };
        self.ready.push(SessionUpdate::AgentMessage(AgentMessage {
            text: text.to_owned(),
            message_id: Some(message_id),
            ended: true,
            failed: state == RunState::Failed,
            ..AgentMessage::default()
        }));
    }

    /// Ends the compactions of an agent that has exited.
    pub(crate) fn close_notes(&mut self, now: Instant, why: &str) {
        self.notes.close(why);
        self.ready.extend(self.notes.take(now));
    }

    /// Closes the open calls of an agent that has exited.
    pub(crate) fn close_open(&mut self, now: Instant, why: &str) {
        self.flush(now);
        self.calls.close_open(why, &mut self.ready);
    }

    fn flush(&mut self, now: Instant) {
        let waiting = self.coalescer.flush(now);
        self.add_text_updates(waiting);
    }

    fn add_text_updates(&mut self, pieces: impl IntoIterator<Item = Piece<Source>>) {
        let update = |Piece { role: source, text }: Piece<Source>| {
            let (message_id, late) = (Some(source.message_id), source.late);
            match source.role {
                Role::Message => SessionUpdate::AgentMessage(AgentMessage {
                    text,
                    message_id,
                    late,
                    ..AgentMessage::default()
                }),
                Role::Thought => SessionUpdate::AgentThought(AgentThought { text, message_id, late }),
            }
        };
        self.ready.extend(pieces.into_iter().map(update));
    }
}
