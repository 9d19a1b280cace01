//! Asks the user to choose the agent for a task.

use super::context::TurnContext;
use crate::{
    live::{Question, Said, Session},
    modes::DEFAULT_MODE,
    store::Asked,
};
use openagents_core::{
    CancellationToken,
    agent::{AgentCommand, AgentSettingsChange, WorkspaceAgent},
    approval::{ApprovalOption, ApprovalOutcome, ApprovalRequest, OptionKind},
};
use openagents_orchestration::route::Candidate;
use serde_json::Value;
use std::sync::Arc;

/// Title of the question.
pub(crate) const TITLE: &str = "This is work for an agent";

/// Maximum number of offered agents.
const OFFERED: usize = 5;

/// Prefix of an option id: use the agent for all work in this workspace.
const ALWAYS: &str = "always:";

/// Id of the option that declines.
const NOT_NOW: &str = "not-now";

/// Asks the user which of `offered` may do the work in `question`, and stores an "always". `agent_id` is the asking
/// mode. `None` if the user declines, the turn is cancelled, or there is nothing to offer. Blocks.
pub(crate) fn ask(
    turns: &TurnContext,
    session: &Arc<Session>,
    call_id: &str,
    (question, agent_id): (Value, &str),
    offered: &[Candidate],
    cancel: &CancellationToken,
) -> Option<Candidate> {
    let offered = &offered[..offered.len().min(OFFERED)];
    if offered.is_empty() {
        return None;
    }
    let request = ApprovalRequest {
        call_id: call_id.to_owned(),
        agent: "OpenAgents".to_owned(),
        title: TITLE.to_owned(),
        raw_input: Some(question),
        command: None,
        cut: false,
        options: options(offered),
    };
    let answer = Question::new(request, agent_id).ask(session).wait(&[cancel], || turns.given_up());
    let ApprovalOutcome::Selected { option_id, .. } = answer else { return None };
    let id = option_id.strip_prefix(ALWAYS).unwrap_or(&option_id);
    let chosen = offered.iter().find(|candidate| candidate.id == id)?;
    if option_id.starts_with(ALWAYS)
        && let Some(agents) = &turns.runner.agents
    {
        let workspace_agent =
            Some(WorkspaceAgent { workspace: session.cwd().to_owned(), agent: Some(id.to_owned()) });
        let change = AgentSettingsChange { workspace_agent, ..AgentSettingsChange::default() };
        if let Err(error) = agents.command(AgentCommand::Configure { settings: change }) {
            tracing::warn!(%error, "could not store the agent of a workspace");
        }
    }
    Some(chosen.clone())
}

fn options(offered: &[Candidate]) -> Vec<ApprovalOption> {
    let option = |id: String, name: String, kind| ApprovalOption { id, name, kind };
    let once =
        offered.iter().map(|agent| option(agent.id.clone(), agent.name.clone(), OptionKind::AllowOnce));
    let always = offered.iter().map(|agent| {
        option(
            format!("{ALWAYS}{}", agent.id),
            format!("Always {} in this folder", agent.name),
            OptionKind::AllowAlways,
        )
    });
    let not_now = option(NOT_NOW.to_owned(), "Not now".to_owned(), OptionKind::RejectOnce);
    once.chain(always).chain([not_now]).collect()
}

/// Returns the prompt of a card.
pub(crate) fn carded_prompt(asked: &Asked) -> Option<Said> {
    let question = asked.approval.raw_input.as_ref().filter(|_| asked.agent_id == DEFAULT_MODE)?;
    let text = |name: &str| question.get(name).and_then(Value::as_str).map(str::to_owned);
    Some(Said { words: text("words"), ..Said::from(text("prompt")?) })
}
