//! OpenAgents' own questions, which a turn asks before an agent starts.

use super::context::{TurnContext, show};
use crate::live::{Question, Session, word};
use openagents_core::{
    CancellationToken,
    agent::{AgentEvent, CANCELLED, PromptOutcome},
    approval::{ApprovalOption, ApprovalOutcome, OptionKind},
    update::{RunState, SessionUpdate, ToolCall, ToolCallDetails, ToolCallStatus, ToolCallUpdate},
    visible::escaped,
};
use serde_json::Map;
use std::{path::Path, sync::Arc};

/// One of these questions, with the call that shows it.
pub(super) struct Put {
    /// The id of the question.
    pub(super) id: String,
    call_id: String,
    /// The chosen option; `None` if there is no answer.
    pub(super) chosen: Option<String>,
}

pub(super) fn option(id: &str, name: &str, kind: OptionKind) -> ApprovalOption {
    ApprovalOption { id: id.to_owned(), name: name.to_owned(), kind }
}

/// Asks a question about a workspace in its own call. The call has the given name, workspace and title. Blocks until
/// the question is answered.
pub(super) fn put(
    turns: &TurnContext,
    session: &Arc<Session>,
    (name, workspace, title): (&str, &str, &str),
    ask: impl FnOnce(&str) -> Question,
    cancel: &CancellationToken,
) -> Put {
    let call_id = uuid::Uuid::new_v4().to_string();
    show(
        session,
        AgentEvent::Update(SessionUpdate::ToolCall(ToolCall {
            call_id: call_id.clone(),
            name: name.to_owned(),
            arguments: Map::from_iter([("workspace".to_owned(), workspace.into())]),
            op_hash: None,
            stage: None,
            details: ToolCallDetails { title: Some(title.to_owned()), ..ToolCallDetails::default() },
        })),
    );
    let asked = ask(&call_id);
    let id = asked.id().to_owned();
    let chosen = match asked.ask(session).wait(&[cancel], || turns.given_up()) {
        ApprovalOutcome::Selected { option_id, .. } => Some(option_id),
        ApprovalOutcome::Cancelled => None,
    };
    Put { id, call_id, chosen }
}

impl Put {
    /// Ends the call.
    pub(super) fn end(&self, session: &Arc<Session>, status: ToolCallStatus) {
        let (call_id, details) = (self.call_id.clone(), ToolCallDetails::default());
        let update = ToolCallUpdate { call_id, status, late: false, details };
        show(session, AgentEvent::Update(SessionUpdate::ToolCallUpdate(update)));
    }

    /// Ends the call and the turn, either with `text` because the user did not allow it, or as cancelled.
    pub(super) fn refuse(
        &self,
        turns: &TurnContext,
        session: &Arc<Session>,
        cancel: &CancellationToken,
        text: String,
    ) -> PromptOutcome {
        let is_cancelled =
            self.chosen.is_none() && (cancel.is_cancelled() || turns.sessions.stopping().is_cancelled());
        let (why, state, text) = match is_cancelled {
            true => ("Cancelled", RunState::Cancelled, CANCELLED.to_owned()),
            false => ("Not now", RunState::Failed, text),
        };
        self.end(session, ToolCallStatus::Error { message: why.to_owned() });
        session.append(vec![word(&text, state)]);
        PromptOutcome::new(state, text)
    }
}

/// Returns a path to show in a sentence.
pub(super) fn shown(path: &Path) -> String {
    escaped(&path.to_string_lossy()).into_owned()
}
