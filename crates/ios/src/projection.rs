//! Projects a session's log into updates for the app. Pure: updates in, updates out.
//!
//! The app keeps 200 rows and draws each plan and each chunk as one row. So text is sent in paragraphs, plans are sent
//! only when a step begins or all are done, and progress is sent rarely and only where the app shows it.

use crate::to_wire::{self, Role};
use openagents_core::{
    approval::ApprovalState,
    update::{
        AgentMessage, AgentThought, EntryStatus, PlanSnapshot, RunState, SessionUpdate, ToolCallStatus,
        ToolCallUpdate,
    },
};
use openagents_sessions::store::Stored;
use serde_json::Value;
use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

/// Text of at least this many bytes is sent even without a paragraph end.
const FLUSH_BYTES: usize = 8 << 10;
/// Minimum interval between progress updates of one call, in milliseconds.
const PROGRESS_MS: i64 = 250;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct View {
    /// Modes: only for a connection that has set one.
    pub(super) modes: bool,
    /// Progress: not in history, where the app would draw it as a failure.
    pub(super) progress: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Shown {
    pub(super) update: Value,
    pub(super) covers: u64,
    /// Bytes of the next update's text that it also covers.
    pub(super) part: usize,
}

/// The first update that is not fully sent, and how many bytes of its text are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HeldBack {
    pub(super) seq: u64,
    pub(super) part: usize,
}

#[derive(Debug, Default)]
pub(super) struct Projection {
    text: Option<Text>,
    calls: HashMap<String, Call>,
    /// A plan between two steps, superseded by the next one.
    held_plan: Option<(u64, Value)>,
    last_plan: Option<Value>,
    /// The part of an update's text that the reader has already seen.
    seen: Option<HeldBack>,
    /// The last update of the log that was projected.
    pub(super) last: u64,
}

/// Joined chunks.
#[derive(Debug)]
struct Text {
    role: Role,
    message_id: Option<String>,
    text: String,
    /// The first log update that was not sent in full.
    from: u64,
    /// Bytes of that update's text that were sent.
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
    /// Continues where an earlier connection of the same reader broke.
    pub(super) fn after(seen: Option<HeldBack>) -> Self {
        Self { seen, ..Self::default() }
    }

    pub(super) fn held_back(&self) -> Option<HeldBack> {
        self.text.as_ref().map(|text| HeldBack { seq: text.from, part: text.part })
    }

    /// Projects the next update of the log. `is_own` recognises the reader's own connections.
    pub(super) fn push(
        &mut self,
        stored: &Stored,
        view: View,
        is_own: &dyn Fn(&str) -> bool,
        out: &mut Vec<Shown>,
    ) {
        match &stored.update {
            // The app cannot nest sessions: updates of a delegate follow the row of the call. Sub-agents, of which several
            // may speak at once, have that row alone.
            SessionUpdate::Delegated(delegated)
                if is_drawn(&delegated.update) && !delegated.is_of_subagent() =>
            {
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
            // A late update would appear in the answer to the next prompt.
            SessionUpdate::AgentMessage(AgentMessage { late: true, .. })
            | SessionUpdate::AgentThought(AgentThought { late: true, .. }) => {}
            SessionUpdate::AgentMessage(message) => {
                if message.is_overview
                    || message.findings.as_ref().is_some_and(|findings| findings.in_exploration)
                {
                    // The app expects one message per exploration.
                } else if message.text.is_empty() {
                    // Some chunks only carry usage figures.
                } else if message.summary.is_some() {
                    // Sent whole, because the app expects the heading and the sentence in one text.
                    self.show(to_wire::chunk(Role::Agent, &message.text), seq, out);
                } else {
                    self.push_text(Role::Agent, message.message_id.as_deref(), &message.text, seq, out);
                }
                // The end of this answer must not wait for the turn of a queued prompt.
                if message.ends_turn() {
                    self.flush_text(out);
                }
            }
            SessionUpdate::AgentThought(thought) => {
                self.push_text(Role::Thought, None, &thought.text, seq, out)
            }
            // The app has no queue: a removed prompt stays unanswered.
            SessionUpdate::UserMessage(message) if message.removed || message.is_mark() => {}
            // The app has drawn its own prompt already.
            SessionUpdate::UserMessage(message) if message.connection.as_deref().is_some_and(is_own) => {}
            SessionUpdate::UserMessage(message) => {
                self.show(to_wire::chunk(Role::User, &message.text_with_images()), seq, out)
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
            // The question itself is never sent, because this endpoint cannot answer it.
            SessionUpdate::Approval(approval) if approval.state == ApprovalState::Pending => {
                self.show(to_wire::waiting_for(approval.subject), seq, out);
            }
            SessionUpdate::Mode(_)
            | SessionUpdate::Title(_)
            | SessionUpdate::Routed(_)
            | SessionUpdate::Approval(_)
            | SessionUpdate::Delegated(_)
            | SessionUpdate::AgentState(_)
            | SessionUpdate::AgentNote(_) => {}
        }
    }

    /// Emits everything held back, at the end of a turn.
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
        // Two plans may differ only in the run state, which the app does not see.
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
            // The app shows only the result of a call.
            (ToolCallStatus::Started { .. } | ToolCallStatus::Unchanged, _) => return,
            (_, Some(call)) if call.ended => return,
            (_, Some(call)) => call.ended = true,
            // Announced to an earlier connection of the same app.
            (_, None) => {}
        }
        self.show(to_wire::tool_call_update(update), stored.seq, out);
    }

    fn push_text(&mut self, role: Role, id: Option<&str>, text: &str, seq: u64, out: &mut Vec<Shown>) {
        let whole = text.len();
        let seen = self.seen.take_if(|seen| seen.seq <= seq).filter(|seen| seen.seq == seq);
        let part = seen.map_or(0, |seen| seen.part);
        let text = text.get(part..).unwrap_or_default();
        if self.text.as_ref().is_some_and(|known| known.role != role || known.message_id.as_deref() != id) {
            self.flush_text(out);
        }
        let known = self.text.get_or_insert_with(|| Text {
            role,
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
            // The remaining text began in this update.
            known.from = seq;
            known.part = whole.saturating_sub(known.text.len());
            let (done, part, finished) = match known.text.len() {
                0 => (seq, 0, true),
                _ => (seq.saturating_sub(1), known.part, false),
            };
            emit(role, &ready, (done, part), out);
            if finished {
                self.text = None;
            }
        }
    }

    fn flush_text(&mut self, out: &mut Vec<Shown>) {
        if let Some(text) = self.text.take() {
            emit(text.role, &text.text, (text.last, 0), out);
        }
    }
}

fn emit(role: Role, text: &str, (covers, part): (u64, usize), out: &mut Vec<Shown>) {
    // The app draws each chunk as its own paragraph.
    let text = text.trim_matches('\n');
    if !text.trim().is_empty() {
        out.push(Shown { update: to_wire::chunk(role, text), covers, part });
    }
}

/// Returns whether an update of a delegate is shown in the delegating session.
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
        | SessionUpdate::Delegated(_)
        | SessionUpdate::AgentState(_)
        | SessionUpdate::AgentNote(_) => false,
    }
}

/// Returns whether a step is complete and the next one has not begun.
fn is_between_steps(snapshot: &PlanSnapshot) -> bool {
    let has = |status| snapshot.entries.iter().any(|entry| entry.status == status);
    snapshot.state == RunState::Running
        && has(EntryStatus::Completed)
        && has(EntryStatus::Pending)
        && !has(EntryStatus::InProgress)
}

/// Returns the length of the text that can be sent: up to the last blank line outside a code fence, or all of it from
/// [`FLUSH_BYTES`] on.
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

/// Shortens a backlog: keeps only the last plan of the page, and only the end of each tool call.
pub(super) fn fold(page: &[Arc<Stored>]) -> Vec<Arc<Stored>> {
    let mut kept = Vec::with_capacity(page.len());
    let mut plan_seen = false;
    let mut ended = HashSet::new();
    for stored in page.iter().rev() {
        let keep = match &stored.update {
            SessionUpdate::Plan(_) => !std::mem::replace(&mut plan_seen, true),
            SessionUpdate::ToolCallUpdate(update) => match update.status {
                // The last update of a running call is kept.
                ToolCallStatus::Started { .. } | ToolCallStatus::Unchanged => ended.insert(&update.call_id),
                ToolCallStatus::Completed { .. } | ToolCallStatus::Error { .. } => {
                    ended.insert(&update.call_id);
                    true
                }
            },
            SessionUpdate::UserMessage(_)
            | SessionUpdate::AgentMessage(_)
            | SessionUpdate::AgentThought(_)
            | SessionUpdate::ToolCall(_)
            | SessionUpdate::Mode(_)
            | SessionUpdate::Title(_)
            | SessionUpdate::Routed(_)
            | SessionUpdate::Approval(_)
            | SessionUpdate::Delegated(_)
            | SessionUpdate::AgentState(_)
            | SessionUpdate::AgentNote(_) => true,
        };
        if keep {
            kept.push(stored.clone());
        }
    }
    kept.reverse();
    kept
}
