//! What of a session's log the app gets to see, and when. Pure: updates in, updates out.
//!
//! The app keeps 200 rows in all and draws each plan and each chunk as one of them: so chunks come as paragraphs,
//! plans only when a step begins or all are done, progress rarely and only where it is shown.

use super::to_wire::{self, Voice};
use crate::outbox::HeldBack;
use openagents_core::{
    approval::ApprovalState,
    update::{
        AgentMessage, AgentThought, EntryStatus, PlanSnapshot, RunState, SessionUpdate, ToolCallStatus,
        ToolCallUpdate, UserMessage,
    },
};
use openagents_sessions::store::Stored;
use serde_json::Value;
use std::collections::HashMap;

/// Text is sent at the latest when so much has come together.
const FLUSH_BYTES: usize = 8 << 10;
/// Progress of one call is shown at most so often, in milliseconds.
const PROGRESS_MS: i64 = 250;

/// What a reader may see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct View {
    /// Modes: only for a connection that has set one.
    pub(super) modes: bool,
    /// Progress: not in history, where the app would draw it as a failure.
    pub(super) progress: bool,
}

/// An update for the app, and the number of the last one of ours that it stands for.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Shown {
    pub(super) update: Value,
    pub(super) covers: u64,
    /// Bytes of the text of the next one that it shows as well.
    pub(super) part: usize,
}

/// The memory that is needed between two updates of one session.
#[derive(Debug, Default)]
pub(super) struct Projection {
    text: Option<Text>,
    calls: HashMap<String, Call>,
    /// A plan between two steps: the next one says it all.
    held_plan: Option<(u64, Value)>,
    last_plan: Option<Value>,
    /// What the reader has seen before of an update's text.
    seen: Option<HeldBack>,
}

/// Chunks that came together.
#[derive(Debug)]
struct Text {
    voice: Voice,
    message_id: Option<String>,
    text: String,
    /// The first update of ours that is not shown in full.
    from: u64,
    /// Bytes of that one which are shown.
    part: usize,
    last: u64,
}

#[derive(Debug)]
struct Call {
    shows_progress: bool,
    ended: bool,
    progress_at: Option<i64>,
}

impl Projection {
    /// Goes on where an earlier connection of the same reader broke.
    pub(super) fn after(seen: Option<HeldBack>) -> Self {
        Self { seen, ..Self::default() }
    }

    /// Returns what is held back as text.
    pub(super) fn held_back(&self) -> Option<HeldBack> {
        self.text.as_ref().map(|text| HeldBack { seq: text.from, part: text.part })
    }

    /// Takes the next update of the log. `is_own` knows the connections of the reader.
    pub(super) fn push(
        &mut self,
        stored: &Stored,
        view: View,
        is_own: &dyn Fn(&str) -> bool,
        out: &mut Vec<Shown>,
    ) {
        match &stored.update {
            // The app draws no session inside another: what a delegate does follows the row of the call.
            SessionUpdate::Delegated(delegated) if is_drawn(&delegated.update) => {
                self.take(&delegated.update, stored, view, is_own, out);
            }
            SessionUpdate::Delegated(_) => {}
            update => self.take(update, stored, view, is_own, out),
        }
    }

    fn take(
        &mut self,
        update: &SessionUpdate,
        stored: &Stored,
        view: View,
        is_own: &dyn Fn(&str) -> bool,
        out: &mut Vec<Shown>,
    ) {
        let seq = stored.seq;
        match update {
            // It would be drawn into the answer to the next prompt.
            SessionUpdate::AgentMessage(AgentMessage { late: true, .. })
            | SessionUpdate::AgentThought(AgentThought { late: true, .. }) => {}
            SessionUpdate::AgentMessage(message) => {
                if message.findings.as_ref().is_some_and(|findings| findings.in_exploration) {
                    // The app expects one message of an exploration.
                } else if message.text.is_empty() {
                    // Some chunks only carry figures.
                } else if message.summary.is_some() {
                    // Whole as it is: the app looks for heading and sentence in one text.
                    self.show(to_wire::chunk(Voice::Agent, &message.text), seq, out);
                } else {
                    self.say(Voice::Agent, message.message_id.as_deref(), &message.text, seq, out);
                }
                // Another prompt may wait: its turn must not hold back the end of this one's answer.
                if message.ends_turn() {
                    self.flush_text(out);
                }
            }
            SessionUpdate::AgentThought(thought) => self.say(Voice::Thought, None, &thought.text, seq, out),
            // The app has no queue: a prompt that was taken back stays without an answer.
            SessionUpdate::UserMessage(UserMessage { removed: true, .. }) => {}
            // The app has drawn its own prompt already.
            SessionUpdate::UserMessage(message) if message.connection.as_deref().is_some_and(is_own) => {}
            SessionUpdate::UserMessage(message) => {
                self.show(to_wire::chunk(Voice::User, &message.text), seq, out)
            }
            SessionUpdate::Plan(snapshot) => self.plan(snapshot, seq, out),
            SessionUpdate::ToolCall(call) => {
                let shows_progress = matches!(call.name.as_str(), "session.analyze" | "fm.analysis");
                let known = Call { shows_progress, ended: false, progress_at: None };
                self.calls.insert(call.call_id.clone(), known);
                self.show(to_wire::tool_call(call), seq, out);
            }
            SessionUpdate::ToolCallUpdate(update) => self.tool_call_update(update, stored, view, out),
            SessionUpdate::Mode(mode) if view.modes => self.show(to_wire::mode(&mode.mode_id), seq, out),
            // Never the question: this door must not answer it.
            SessionUpdate::Approval(approval) if approval.state == ApprovalState::Pending => {
                self.show(to_wire::waiting_for_approval(), seq, out);
            }
            SessionUpdate::Mode(_)
            | SessionUpdate::Title(_)
            | SessionUpdate::Routed(_)
            | SessionUpdate::Approval(_)
            | SessionUpdate::Delegated(_) => {}
        }
    }

    /// Gives out what was held back: the turn is over.
    pub(super) fn rest(&mut self, out: &mut Vec<Shown>) {
        self.flush_text(out);
        if let Some((seq, plan)) = self.held_plan.take() {
            out.push(Shown { update: plan, covers: seq, part: 0 });
        }
    }

    fn show(&mut self, update: Value, seq: u64, out: &mut Vec<Shown>) {
        self.flush_text(out);
        out.push(Shown { update, covers: seq, part: 0 });
    }

    fn plan(&mut self, snapshot: &PlanSnapshot, seq: u64, out: &mut Vec<Shown>) {
        let plan = to_wire::plan(snapshot);
        // The app does not see the state of a run: two plans may differ in nothing else.
        if self.last_plan.as_ref() == Some(&plan) {
            return;
        }
        self.last_plan = Some(plan.clone());
        if is_between_steps(snapshot) {
            self.held_plan = Some((seq, plan));
            return;
        }
        self.held_plan = None;
        self.show(plan, seq, out);
    }

    fn tool_call_update(
        &mut self,
        update: &ToolCallUpdate,
        stored: &Stored,
        view: View,
        out: &mut Vec<Shown>,
    ) {
        let call = self.calls.get_mut(&update.call_id);
        match (&update.status, call) {
            (ToolCallStatus::Started { .. }, Some(call)) if view.progress => {
                let due = call.progress_at.is_none_or(|last| stored.ts - last >= PROGRESS_MS);
                if !call.shows_progress || call.ended || !due {
                    return;
                }
                call.progress_at = Some(stored.ts);
            }
            // What a call shows beside its result has no place in the app.
            (ToolCallStatus::Started { .. } | ToolCallStatus::Unchanged, _) => return,
            (_, Some(call)) if call.ended => return,
            (_, Some(call)) => call.ended = true,
            // Announced to an earlier connection of the same app.
            (_, None) => {}
        }
        self.show(to_wire::tool_call_update(update), stored.seq, out);
    }

    fn say(&mut self, voice: Voice, id: Option<&str>, text: &str, seq: u64, out: &mut Vec<Shown>) {
        let whole = text.len();
        let seen = self.seen.take_if(|seen| seen.seq <= seq).filter(|seen| seen.seq == seq);
        let part = seen.map_or(0, |seen| seen.part);
        let text = text.get(part..).unwrap_or_default();
        if self.text.as_ref().is_some_and(|known| known.voice != voice || known.message_id.as_deref() != id) {
            self.flush_text(out);
        }
        let known = self.text.get_or_insert_with(|| Text {
            voice,
            message_id: id.map(str::to_owned),
            text: String::new(),
            from: seq,
            part,
            last: seq,
        });
        known.text.push_str(text);
        known.last = seq;
        if let Some(end) = paragraphs_end(&known.text) {
            let rest = known.text.split_off(end);
            let ready = std::mem::replace(&mut known.text, rest);
            // What is left began in this very update.
            known.from = seq;
            known.part = whole.saturating_sub(known.text.len());
            let (done, part, finished) = match known.text.len() {
                0 => (seq, 0, true),
                _ => (seq.saturating_sub(1), known.part, false),
            };
            emit(voice, &ready, (done, part), out);
            if finished {
                self.text = None;
            }
        }
    }

    fn flush_text(&mut self, out: &mut Vec<Shown>) {
        if let Some(text) = self.text.take() {
            emit(text.voice, &text.text, (text.last, 0), out);
        }
    }
}

fn emit(voice: Voice, text: &str, (covers, part): (u64, usize), out: &mut Vec<Shown>) {
    // Every piece becomes a paragraph of its own in the app.
    let text = text.trim_matches('\n');
    if !text.trim().is_empty() {
        out.push(Shown { update: to_wire::chunk(voice, text), covers, part });
    }
}

/// Returns whether the app shows what a delegate does in the session that delegated.
fn is_drawn(update: &SessionUpdate) -> bool {
    match update {
        SessionUpdate::AgentMessage(_)
        | SessionUpdate::AgentThought(_)
        | SessionUpdate::ToolCall(_)
        | SessionUpdate::ToolCallUpdate(_)
        | SessionUpdate::Approval(_) => true,
        SessionUpdate::UserMessage(_)
        | SessionUpdate::Plan(_)
        | SessionUpdate::Mode(_)
        | SessionUpdate::Title(_)
        | SessionUpdate::Routed(_)
        | SessionUpdate::Delegated(_) => false,
    }
}

/// A step is over and the next one has not begun.
fn is_between_steps(snapshot: &PlanSnapshot) -> bool {
    let has = |status| snapshot.entries.iter().any(|entry| entry.status == status);
    snapshot.state == RunState::Running
        && has(EntryStatus::Completed)
        && has(EntryStatus::Pending)
        && !has(EntryStatus::InProgress)
}

/// Returns where the part of a growing text ends that can be shown: after the last blank line outside a code fence,
/// or, when too much has come together, at the end.
fn paragraphs_end(text: &str) -> Option<usize> {
    let (mut fence, mut end, mut offset, mut seen_text) = (None::<&str>, None, 0, false);
    for line in text.split_inclusive('\n') {
        offset += line.len();
        let bare = line.trim();
        let marker = ["```", "~~~"].into_iter().find(|marker| bare.starts_with(marker));
        match (fence, marker) {
            (None, Some(marker)) => fence = Some(marker),
            (Some(open), Some(marker)) if open == marker => fence = None,
            _ => {}
        }
        if bare.is_empty() && line.ends_with('\n') && fence.is_none() && seen_text {
            end = Some(offset);
        }
        seen_text |= !bare.is_empty();
    }
    end.or_else(|| (text.len() >= FLUSH_BYTES).then_some(text.len()))
}
