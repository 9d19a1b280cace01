//! An index of the updates of a log that are not superseded.

use crate::{
    scope::{Scope, scoped},
    store::Stored,
};
use openagents_core::update::{SessionUpdate, ToolCallStatus, ToolCallUpdate, UserMessage};
use std::collections::HashMap;

/// A subject for which only the last state counts.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Subject {
    Plan,
    Title,
    Mode,
    Approval(String),
    Call(String),
    Prompt(String),
}

/// The subjects found by the first pass that the second has not emitted yet.
#[derive(Debug, Default)]
pub(super) struct Index(pub(super) HashMap<(Scope, Subject), Mention>);

/// The last updates on a subject.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Mention {
    pub(super) last: u64,
    /// For a call: the last update of each field; 0 if there is none.
    pub(super) announced: u64,
    pub(super) status: u64,
    pub(super) details: [u64; 5],
    pub(super) late: bool,
}

impl Index {
    pub(super) fn take(&mut self, stored: &Stored) {
        let (scope, update) = scoped(&stored.update);
        if let SessionUpdate::UserMessage(UserMessage { message_id: Some(id), .. }) = update
            && is_mark(update)
        {
            if let Some(prompt) = self.0.get_mut(&(scope, Subject::Prompt(id.clone()))) {
                prompt.last = stored.seq;
                prompt.status = stored.seq;
            }
            return;
        }
        let Some(subject) = subject(update) else { return };
        let mention = self.0.entry((scope, subject)).or_default();
        mention.last = stored.seq;
        match update {
            SessionUpdate::ToolCall(_) => (mention.announced, mention.details) = (stored.seq, [0; 5]),
            SessionUpdate::ToolCallUpdate(update) => mention.take(update, stored.seq),
            _ => {}
        }
    }
}

impl Mention {
    fn take(&mut self, update: &ToolCallUpdate, seq: u64) {
        let details = &update.details;
        let says = [
            details.title.is_some(),
            details.kind.is_some(),
            details.raw_input.is_some(),
            !details.locations.is_empty(),
            !details.content.is_empty(),
        ];
        for (known, says) in self.details.iter_mut().zip(says) {
            if says {
                *known = seq;
            }
        }
        if update.status != ToolCallStatus::Unchanged {
            self.status = seq;
        }
        self.late |= update.late;
    }
}

/// Returns the subject of an update, if only the last update on it counts.
pub(super) fn subject(update: &SessionUpdate) -> Option<Subject> {
    match update {
        SessionUpdate::Plan(_) => Some(Subject::Plan),
        SessionUpdate::Title(_) => Some(Subject::Title),
        SessionUpdate::Mode(_) => Some(Subject::Mode),
        SessionUpdate::Approval(approval) => Some(Subject::Approval(approval.id.clone())),
        SessionUpdate::ToolCall(call) => Some(Subject::Call(call.call_id.clone())),
        SessionUpdate::ToolCallUpdate(update) => Some(Subject::Call(update.call_id.clone())),
        SessionUpdate::UserMessage(message) if !is_mark(update) => {
            message.message_id.clone().map(Subject::Prompt)
        }
        SessionUpdate::UserMessage(_)
        | SessionUpdate::AgentMessage(_)
        | SessionUpdate::AgentThought(_)
        | SessionUpdate::Routed(_)
        | SessionUpdate::Delegated(_) => None,
    }
}

/// Returns whether an update ends a thought.
pub(super) fn ends_thought(update: &SessionUpdate) -> bool {
    match update {
        SessionUpdate::UserMessage(_) => !is_mark(update),
        SessionUpdate::AgentMessage(_)
        | SessionUpdate::ToolCall(_)
        | SessionUpdate::ToolCallUpdate(_)
        | SessionUpdate::Approval(_) => true,
        _ => false,
    }
}

/// Returns whether an update only marks a prompt as removed.
pub(super) fn is_mark(update: &SessionUpdate) -> bool {
    matches!(update, SessionUpdate::UserMessage(message) if message.removed && message.text.is_empty())
}
