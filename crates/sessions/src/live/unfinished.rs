//! Work left open by an interrupted turn, and the updates that close it.
//!
//! A plan must not stay "running" forever, and every prompt needs an answer.

use super::pending::Pending;
use crate::store::{SessionRow, Store, StoreError, Stored};
use openagents_core::{
    approval::{Approval, ApprovalState},
    update::{
        AgentMessage, Delegated, EntryStatus, PlanSnapshot, RunState, SessionUpdate, ToolCallStatus,
        ToolCallUpdate, UserMessage,
    },
};
use std::{collections::BTreeMap, sync::Arc};

/// Updates at the end of the log that are read in full. Before them only messages, for waiting prompts, and open calls
/// are read: the delegate of a long-running call can produce many updates.
const UPDATES: u64 = 1024;
const PAGE: usize = 256;

/// The unfinished work at the end of a log.
#[derive(Debug, Default)]
pub(crate) struct Unfinished {
    /// The last plan.
    plan: Option<PlanSnapshot>,
    /// Open calls, in order.
    calls: Vec<String>,
    /// A turn has output but no final message.
    turn: Option<Kind>,
    /// Prompts whose turn has not started.
    waiting: usize,
    /// Id of the last message.
    message: Option<String>,
    /// Pending approvals, except those of delegates.
    approvals: Pending,
    /// Unfinished work of delegates, by session id and call id.
    delegates: BTreeMap<(String, String), Unfinished>,
}

/// The kind of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Exploration,
    Model,
}

impl Unfinished {
    /// Reads a session's log. Blocks.
    pub(crate) fn read(store: &Store, id: &str, last_seq: u64) -> Result<Self, StoreError> {
        let mut found = Self::default();
        let end_begins = last_seq.saturating_sub(UPDATES);
        let open_calls = if end_begins > 0 { store.open_calls(id, end_begins)? } else { Vec::new() };
        let mut open_calls = open_calls.iter().peekable();
        let mut since = 0;
        while since < end_begins {
            let page = store.messages_after(id, since, PAGE)?;
            let Some(last) = page.last() else { break };
            since = last.seq.min(end_begins);
            for stored in page.iter().filter(|stored| stored.seq <= end_begins) {
                while let Some(call) = open_calls.next_if(|call| call.seq < stored.seq) {
                    found.push(call);
                }
                found.push(stored);
            }
        }
        open_calls.for_each(|call| found.push(call));
        since = end_begins;
        loop {
            let page = store.updates_after(id, since, PAGE)?;
            let Some(last) = page.last() else { return Ok(found) };
            since = last.seq;
            page.iter().for_each(|stored| found.push(stored));
        }
    }

    fn push(&mut self, stored: &Arc<Stored>) {
        self.take(&stored.update, stored.seq == 1);
    }

    fn take(&mut self, update: &SessionUpdate, is_first: bool) {
        match update {
            SessionUpdate::UserMessage(UserMessage { removed: true, .. }) => {
                self.waiting = self.waiting.saturating_sub(1);
            }
            SessionUpdate::UserMessage(_) => self.waiting += 1,
            // An explicitly requested exploration starts its session with the title; later titles do not start a turn.
            SessionUpdate::Title(_) if is_first => self.turn = Some(Kind::Exploration),
            // Late updates open nothing.
            SessionUpdate::AgentMessage(AgentMessage { late: true, .. }) => {}
            SessionUpdate::AgentThought(thought) if thought.late => {}
            SessionUpdate::Routed(_) => self.begin(Kind::Model),
            SessionUpdate::Approval(_) => self.approvals.push(update),
            SessionUpdate::Delegated(Delegated { parent_call_id, child_session_id, update }) => {
                let key = (child_session_id.clone(), parent_call_id.clone());
                self.delegates.entry(key).or_default().take(update, false);
            }
            SessionUpdate::Plan(plan) => {
                if self.plan.as_ref().is_none_or(|known| known.plan_id != plan.plan_id) {
                    // An agent may plan during its turn.
                    if self.turn != Some(Kind::Model) {
                        self.waiting = self.waiting.saturating_sub(1);
                        self.calls.clear();
                        self.turn = Some(Kind::Exploration);
                    }
                }
                self.plan = Some(plan.clone());
            }
            SessionUpdate::ToolCall(call) => {
                let is_step = call.op_hash.is_some() || call.stage.is_some();
                self.begin(if is_step { Kind::Exploration } else { Kind::Model });
                self.calls.push(call.call_id.clone());
            }
            SessionUpdate::ToolCallUpdate(update) => {
                if !matches!(update.status, ToolCallStatus::Started { .. } | ToolCallStatus::Unchanged) {
                    self.calls.retain(|id| *id != update.call_id);
                }
            }
            SessionUpdate::AgentMessage(message) => self.say(message),
            SessionUpdate::AgentThought(_) => self.begin(Kind::Model),
            SessionUpdate::Title(_) | SessionUpdate::Mode(_) => {}
        }
    }

    /// Marks a turn as started: its prompt no longer waits.
    fn begin(&mut self, kind: Kind) {
        if self.turn.is_none() {
            self.turn = Some(kind);
            self.waiting = self.waiting.saturating_sub(1);
        }
    }

    fn say(&mut self, message: &AgentMessage) {
        if message.message_id.is_some() && message.message_id == self.message {
            // More of the last message: its start was not the end of the turn.
            self.turn = (!message.ends_turn()).then_some(self.turn.unwrap_or(Kind::Model));
            return;
        }
        // A message outside the turn, such as the refusal of another prompt.
        let is_aside = message.message_id.is_none() && !message.ends_turn();
        if is_aside && (self.is_running() || self.turn == Some(Kind::Model)) {
            return;
        }
        self.message.clone_from(&message.message_id);
        // Older logs do not mark the end: an exploration or a refused turn has one message.
        let refuses = message.text.starts_with("❌ ") || message.message_id.is_none();
        let ends = message.ends_turn()
            || self.turn == Some(Kind::Exploration) && !self.is_running() && message.findings.is_none()
            || self.turn.is_none() && refuses;
        self.begin(Kind::Model);
        if ends {
            self.turn = None;
        }
    }

    /// Applies the next update of a log that is read from its start.
    pub(crate) fn follow(&mut self, update: &SessionUpdate) {
        self.take(update, false);
    }

    /// Returns the number of turns without a final message.
    pub(crate) fn open_turns(&self) -> usize {
        usize::from(self.turn.is_some() || self.is_running()) + self.waiting
    }

    /// Returns whether the log ends inside a turn.
    pub(crate) fn is_inside_a_turn(&self) -> bool {
        self.is_running()
            || self.turn.is_some()
            || self.waiting > 0
            || !self.approvals.all().is_empty()
            || self.delegates.values().any(Unfinished::is_inside_a_turn)
    }

    fn is_running(&self) -> bool {
        !self.calls.is_empty() || self.plan.as_ref().is_some_and(|plan| plan.state == RunState::Running)
    }

    /// Returns a final message for each turn that has none.
    fn last_words(&self) -> Vec<SessionUpdate> {
        let begun = match self.turn {
            Some(Kind::Model) => Some("❌ OpenAgents ended before this answer was done."),
            Some(Kind::Exploration) => Some("❌ OpenAgents ended before this exploration was done."),
            None if self.is_running() => Some("❌ OpenAgents ended before this exploration was done."),
            None => None,
        };
        let waiting = std::iter::repeat_n("❌ OpenAgents ended before this was begun.", self.waiting);
        begun.into_iter().chain(waiting).map(word).collect()
    }

    /// Returns updates that close all unfinished turns, including their final messages.
    pub(crate) fn stopped(self, reason: &str) -> Vec<SessionUpdate> {
        let words = std::iter::repeat_n(format!("❌ This stopped: {reason}."), self.open_turns());
        let words: Vec<_> = words.map(|text| word(&text)).collect();
        let mut closing = self.closing(reason, &ApprovalState::Expired);
        closing.extend(words);
        closing
    }

    /// Returns updates that close delegates, approvals, calls and plan; the caller adds the final message. Pending
    /// approvals get the state `approvals`.
    pub(crate) fn closing(mut self, reason: &str, approvals: &ApprovalState) -> Vec<SessionUpdate> {
        let given_up = |approval: &Approval| {
            SessionUpdate::Approval(Approval { state: approvals.clone(), ..approval.clone() })
        };
        let given_up: Vec<SessionUpdate> = self.approvals.all().iter().map(given_up).collect();
        let mut closing = Vec::new();
        for ((child_session_id, parent_call_id), delegate) in std::mem::take(&mut self.delegates) {
            let words = delegate.last_words();
            let updates = delegate.closing(reason, approvals).into_iter().chain(words);
            closing.extend(updates.map(|update| {
                SessionUpdate::Delegated(Delegated {
                    parent_call_id: parent_call_id.clone(),
                    child_session_id: child_session_id.clone(),
                    update: Box::new(update),
                })
            }));
        }
        closing.extend(given_up);
        closing.extend(self.closing_own(reason));
        closing
    }

    fn closing_own(self, reason: &str) -> Vec<SessionUpdate> {
        let error = |call_id| {
            let status = ToolCallStatus::Error { message: reason.to_owned() };
            SessionUpdate::ToolCallUpdate(ToolCallUpdate {
                call_id,
                status,
                late: false,
                details: Default::default(),
            })
        };
        let mut closing: Vec<SessionUpdate> = self.calls.into_iter().map(error).collect();
        if let Some(mut plan) = self.plan.filter(|plan| plan.state == RunState::Running) {
            plan.state = RunState::Failed;
            for entry in plan.entries.iter_mut().filter(|entry| entry.status != EntryStatus::Completed) {
                entry.status = EntryStatus::Completed;
                entry.error = Some("not run".to_owned());
            }
            closing.push(SessionUpdate::Plan(plan));
        }
        closing
    }
}

/// Loads a session, and first closes the work that a dead process left open in it. Blocks.
pub(crate) fn load(store: &Store, id: &str) -> Result<Option<SessionRow>, StoreError> {
    let Some(row) = store.session(id)? else { return Ok(None) };
    if row.last_seq == 0 || !store.is_writer_gone(row.last_ts) {
        return Ok(Some(row));
    }
    let unfinished = Unfinished::read(store, id, row.last_seq)?;
    if !unfinished.is_inside_a_turn() {
        return Ok(Some(row));
    }
    // In the store as well, so that a later answer is kept.
    for approval in unfinished.approvals.all() {
        store.withdraw(id, &approval.id)?;
    }
    let words = unfinished.last_words();
    let mut closing = unfinished.closing("The app ended before this was done", &ApprovalState::Withdrawn);
    closing.extend(words);
    match store.append(id, closing) {
        Ok(_) => store.session(id),
        // On a full disk it can still be read; the next load tries again.
        Err(error) => {
            tracing::warn!(%error, "could not close an unfinished session");
            Ok(Some(row))
        }
    }
}

/// Returns the final message of a turn. It has an id, so that clients do not append it to the message before.
pub(crate) fn word(text: &str) -> SessionUpdate {
    SessionUpdate::AgentMessage(AgentMessage {
        text: text.to_owned(),
        message_id: Some(uuid::Uuid::new_v4().to_string()),
        ended: true,
        ..AgentMessage::default()
    })
}

#[cfg(test)]
#[path = "unfinished_tests.rs"]
mod tests;
