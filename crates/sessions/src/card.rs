//! "This is work for an agent": a person chooses which one, and sees what it would be told.

use super::{
    DEFAULT_MODE, answering,
    approvals::Question,
    hub::Hub,
    session::Session,
    turn::{Prompt, Said},
    unfinished::word,
};
use crate::store::Asked;
use openagents_core::{
    CancellationToken,
    agent::{
        AgentCommand, AgentEvent, AgentSettingsChange, CANCELLED, PromptOutcome, WorkspaceAgent, inline,
    },
    approval::{ApprovalOption, ApprovalOutcome, ApprovalRequest, OptionKind},
    delegate::{DELEGATE, DelegateReport, with_findings},
    find,
    route::Candidate,
    update::{
        Cut, Decision, RunState, SessionUpdate, ToolCall, ToolCallDetails, ToolCallStatus, ToolCallUpdate,
    },
};
use serde_json::{Map, Value, json};
use std::{path::PathBuf, sync::Arc};

/// What the person is asked.
const TITLE: &str = "This is work for an agent";

/// Agents that are offered.
const OFFERED: usize = 5;

/// Before the id of an agent: it does all work in this workspace from now on.
const ALWAYS: &str = "always:";

/// Refuses.
const NOT_NOW: &str = "not-now";

/// A prompt that is work for an agent.
#[derive(Debug)]
pub struct Card {
    pub said: Said,
    /// The workspace.
    pub root: PathBuf,
    pub decision: Decision,
}

impl Card {
    /// Asks, and lets the agent that was chosen answer. Blocks.
    pub(super) fn put(
        &self,
        hub: &Arc<Hub>,
        session: &Arc<Session>,
        cancel: &CancellationToken,
    ) -> PromptOutcome {
        let emit = |event| answering::show(session, event);
        let words = self.said.words();
        let history = hub.runner().tools.history.clone();
        let mut found = find::find_in(&self.root, Some(history), words, cancel).unwrap_or_else(|error| {
            tracing::warn!(%error, "a card has no findings");
            Default::default()
        });
        // Work names what is not there yet.
        found.missing.clear();
        if !found.findings.is_empty() {
            inline::show(&emit, &found, words, false);
        }
        let brief = with_findings(&self.said.text, &found.findings, true);
        let call_id = uuid::Uuid::new_v4().to_string();
        let arguments = Map::from_iter([("user_prompt".to_owned(), json!(brief))]);
        emit(AgentEvent::Update(SessionUpdate::ToolCall(ToolCall {
            call_id: call_id.clone(),
            name: DELEGATE.to_owned(),
            arguments,
            op_hash: None,
            stage: None,
            details: ToolCallDetails { title: Some(TITLE.to_owned()), ..ToolCallDetails::default() },
        })));
        let offered = hub.situation(session).offered(Some(&self.decision.target));
        let mut question = json!({"brief": brief, "prompt": self.said.text});
        if let Some(words) = &self.said.words {
            question["words"] = json!(words);
        }
        let chosen = ask(hub, session, &call_id, (question, DEFAULT_MODE), &offered, cancel);
        let end = |status| {
            emit(AgentEvent::Update(SessionUpdate::ToolCallUpdate(ToolCallUpdate {
                call_id: call_id.clone(),
                status,
                late: false,
                details: ToolCallDetails::default(),
            })));
        };
        let Some(chosen) = chosen else {
            let (state, why, last) = match cancel.is_cancelled() {
                true => (RunState::Cancelled, "Cancelled", CANCELLED),
                false => (RunState::Complete, "Not now", "Not sent to an agent."),
            };
            end(ToolCallStatus::Error { message: why.to_owned() });
            session.append(vec![word(last)]);
            return PromptOutcome { state, text: last.to_owned(), usage: None, cut_off: false };
        };
        let report = DelegateReport {
            ok: true,
            provider: chosen.id.clone(),
            dispatched: true,
            session_id: Some(session.id().to_string()),
            tool_call_id: call_id.clone(),
            notes: format!("{} answers in this session.", chosen.name),
        };
        let output = serde_json::to_value(&report).unwrap_or_default();
        end(ToolCallStatus::Completed { output, cut: Cut::default() });
        let prompt = Prompt { provider: chosen.id, root: self.root.clone(), said: brief.into() };
        answering::answer(hub.runner(), hub, &prompt, session, cancel)
    }
}

/// Asks a person which of `offered` may do what `question` shows, and keeps an "always". `agent_id` is the mode that asks.
/// `None` when the person refuses, the turn is cancelled, or there is nothing to offer. Blocks.
pub(super) fn ask(
    hub: &Arc<Hub>,
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
        options: options(offered),
    };
    let answer = Question::new(request, agent_id).ask(session).wait(&[cancel], || hub.given_up());
    let ApprovalOutcome::Selected { option_id } = answer else { return None };
    let id = option_id.strip_prefix(ALWAYS).unwrap_or(&option_id);
    let chosen = offered.iter().find(|candidate| candidate.id == id)?;
    if option_id.starts_with(ALWAYS)
        && let Some(agents) = &hub.runner().agents
    {
        let workspace_agent =
            Some(WorkspaceAgent { workspace: session.cwd().to_owned(), agent: Some(id.to_owned()) });
        let change = AgentSettingsChange { workspace_agent, ..AgentSettingsChange::default() };
        if let Err(error) = agents.command(AgentCommand::Configure(change)) {
            tracing::warn!(%error, "the agent of a workspace is not kept");
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

/// Returns the prompt that a card was put for.
pub(super) fn prompt(asked: &Asked) -> Option<Said> {
    let question = asked.approval.raw_input.as_ref().filter(|_| asked.agent_id == DEFAULT_MODE)?;
    let text = |name: &str| question.get(name).and_then(Value::as_str).map(str::to_owned);
    Some(Said { text: text("prompt")?, words: text("words") })
}
