//! OpenAgents' own questions, which a turn asks before an agent starts.

use super::context::{TurnContext, show};
use crate::live::{PromptContent, Question, Session};
use openagents_core::{
    CancellationToken,
    agent::{
        AgentCommand, AgentProvider, AgentSettingsChange, CANCELLED, PromptOutcome, UnaskedAgent, end_turn,
        lowering_command,
    },
    approval::{ApprovalOption, ApprovalOutcome, ApprovalRequest, ApprovalSubject, OptionKind},
    trust::covers,
    update::{Cut, RunState, SessionUpdate, ToolCall, ToolCallDetails, ToolCallStatus, ToolCallUpdate},
    visible::escaped,
};
use serde_json::{Map, json};
use std::{path::Path, sync::Arc};

pub(super) struct OwnQuestion {
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
pub(super) fn ask_own_question(
    turns: &TurnContext,
    session: &Arc<Session>,
    (name, workspace, title): (&str, &str, &str),
    ask: impl FnOnce(&str) -> Question,
    cancel: &CancellationToken,
) -> OwnQuestion {
    let call_id = uuid::Uuid::new_v4().to_string();
    session.append(vec![SessionUpdate::ToolCall(ToolCall {
        call_id: call_id.clone(),
        name: name.to_owned(),
        arguments: Map::from_iter([("workspace".to_owned(), workspace.into())]),
        details: ToolCallDetails { title: Some(title.to_owned()), ..ToolCallDetails::default() },
        ..ToolCall::default()
    })]);
    let asked = ask(&call_id);
    let id = asked.id().to_owned();
    let chosen = match asked.ask(session).wait(&[cancel], || turns.given_up()) {
        ApprovalOutcome::Selected { option_id, .. } => Some(option_id),
        ApprovalOutcome::Cancelled => None,
    };
    OwnQuestion { id, call_id, chosen }
}

impl OwnQuestion {
    pub(super) fn end(&self, session: &Arc<Session>, status: ToolCallStatus) {
        let update = ToolCallUpdate::new(&self.call_id, status);
        session.append(vec![SessionUpdate::ToolCallUpdate(update)]);
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
        end_turn(&|event| show(session, event), state, text)
    }
}

/// Returns a path to show in a sentence.
pub(super) fn shown(path: &Path) -> String {
    escaped(&path.to_string_lossy()).into_owned()
}

const CALL: &str = "agent.start";

const START: &str = "start";

/// Refuses a prompt that changes what an agent asks, if its sender may not approve. The turn's final message is then
/// shown.
pub(super) fn check_words(
    session: &Arc<Session>,
    agent: &dyn AgentProvider,
    content: &PromptContent,
) -> Result<(), PromptOutcome> {
    let Some(command) = lowering_command(&content.text).filter(|_| !content.may_change_approval_mode) else {
        return Ok(());
    };
    let text = format!(
        "❌ {command} changes what {} asks. Send it from a device that may approve, or from this computer.",
        agent.name()
    );
    Err(end_turn(&|event| show(session, event), RunState::Failed, text))
}

/// Asks the user whether an agent that acts without approval may start in a folder, unless this is already
/// settled. Blocks until the agent may start; otherwise returns the turn's outcome, whose final message has already
/// been shown.
pub(super) fn gate(
    turns: &TurnContext,
    session: &Arc<Session>,
    agent: &dyn AgentProvider,
    root: &Path,
    cancel: &CancellationToken,
) -> Result<(), PromptOutcome> {
    let folder = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    if !agent.decides_what_it_asks() || is_confirmed(turns, agent.id(), &folder) {
        return Ok(());
    }
    let (name, workspace) = (agent.name(), shown(&folder));
    let title = format!("{name} may act without asking you. Let it start here?");
    let ask = |call_id: &str| {
        let request = ApprovalRequest {
            subject: ApprovalSubject::Action,
            call_id: call_id.to_owned(),
            agent: "OpenAgents".to_owned(),
            title: title.clone(),
            raw_input: Some(json!({"agent": name, "workspace": workspace})),
            command: None,
            cut: false,
            options: vec![
                option(START, "Let it start", OptionKind::AllowAlways),
                option("not-now", "Not now", OptionKind::RejectOnce),
            ],
        };
        Question::new(request, agent.id())
    };
    let asked = ask_own_question(turns, session, (CALL, &workspace, &title), ask, cancel);
    if asked.chosen.as_deref() != Some(START) {
        let text = format!("{name} was not started. Send the prompt again to be asked again.");
        return Err(asked.refuse(turns, session, cancel, text));
    }
    confirm(turns, [agent.id().to_owned()], &folder);
    asked.end(session, ToolCallStatus::Completed { output: "started".into(), cut: Cut::default() });
    Ok(())
}

/// Returns whether the user has confirmed that an agent that acts without approval may start in a folder.
pub(super) fn is_confirmed(turns: &TurnContext, agent_id: &str, folder: &Path) -> bool {
    let confirmed = turns.agent_settings().unasked.remove(agent_id).unwrap_or_default();
    confirmed.iter().any(|confirmed| covers(confirmed, folder))
}

pub(super) fn confirm(turns: &TurnContext, agent_ids: impl IntoIterator<Item = String>, folder: &Path) {
    let Some(agents) = &turns.runner.agents else { return };
    let unasked = agent_ids.into_iter().map(|agent| UnaskedAgent { agent, folder: folder.to_owned() });
    let unasked: Vec<_> = unasked.collect();
    if unasked.is_empty() {
        return;
    }
    let settings = AgentSettingsChange { unasked, ..AgentSettingsChange::default() };
    if let Err(error) = agents.command(AgentCommand::Configure { settings }) {
        tracing::warn!(%error, "could not store that an agent may start; it is asked about again");
    }
}
