//! Workspace trust: no hosted agent starts in a folder that a person has not trusted on this computer.

use super::context::{TurnContext, refusal, show};
use crate::{
    error::SessionError,
    live::{Prompt, Question, Said, Session, word},
    registry::SessionRegistry,
    store::{ApprovalChange, Asked, Open, StoreError},
    trusted::Verdict,
};
use openagents_core::{
    CancellationToken,
    agent::{AgentEvent, AgentProvider, CANCELLED, PromptOutcome},
    approval::{
        Approval, ApprovalOption, ApprovalOutcome, ApprovalRequest, ApprovalState, ApprovalSubject,
        OptionKind,
    },
    trust::{AgentFiles, NOT_NOW, TRUST, TRUST_TITLE, TrustQuestion, look},
    update::{Cut, RunState, SessionUpdate, ToolCall, ToolCallDetails, ToolCallStatus, ToolCallUpdate},
    visible::escaped,
    workspace::WorkspaceError,
};
use serde_json::Map;
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::Arc,
};

/// The name of the tool call that asks.
const CALL: &str = "workspace.trust";

/// Bytes of a prompt that is kept with the question; a longer one is sent again by the person.
const KEPT_PROMPT: usize = 32 << 10;

/// Asks the user to trust the folders whose settings an agent loads for a prompt, if needed. Blocks until it may start;
/// otherwise returns the turn's outcome, whose final message was already shown.
pub(crate) fn gate(
    turns: &TurnContext,
    session: &Arc<Session>,
    agent: &dyn AgentProvider,
    prompt: &Prompt,
    cancel: &CancellationToken,
) -> Result<(), PromptOutcome> {
    // Looked at again after every answer: a file may have changed while the question was open.
    loop {
        let mut has_asked = false;
        for folder in folders(agent, prompt, cancel) {
            let mut brings = match look(&folder) {
                Ok(brings) => brings,
                // An agent's own folder may be the home folder: what lies there is the user's own.
                Err(WorkspaceError::TooWide(_)) if folder != prompt.root => continue,
                Err(error) => return Err(failed(session, error.to_string())),
            };
            let again = match turns.sessions.trusted().verdict(&folder, &mut brings) {
                Verdict::Trusted => continue,
                Verdict::Unknown => false,
                Verdict::Changed => true,
            };
            let question = TrustQuestion {
                program: agent.program(cancel),
                workspace: folder,
                agent: agent.name(),
                again,
                brings,
                prompt: Some(prompt.said.text.clone()).filter(|text| text.len() <= KEPT_PROMPT),
            };
            ask(turns, session, agent.id(), &question, cancel)?;
            has_asked = true;
        }
        if !has_asked {
            return Ok(());
        }
    }
}

/// Returns the folders whose settings an agent loads: the workspace, and the folder that its program starts in.
fn folders(agent: &dyn AgentProvider, prompt: &Prompt, cancel: &CancellationToken) -> BTreeSet<PathBuf> {
    let real = |path: PathBuf| path.canonicalize().unwrap_or(path);
    // One that does not exist fails when the agent starts.
    let own = agent.folder(cancel).filter(|folder| folder.is_dir());
    std::iter::once(prompt.root.clone()).chain(own).map(real).collect()
}

/// Asks a person, and stores their consent.
fn ask(
    turns: &TurnContext,
    session: &Arc<Session>,
    agent_id: &str,
    question: &TrustQuestion,
    cancel: &CancellationToken,
) -> Result<(), PromptOutcome> {
    let call_id = uuid::Uuid::new_v4().to_string();
    show(
        session,
        AgentEvent::Update(SessionUpdate::ToolCall(ToolCall {
            call_id: call_id.clone(),
            name: CALL.to_owned(),
            arguments: Map::from_iter([("workspace".to_owned(), shown(&question.workspace).into())]),
            op_hash: None,
            stage: None,
            details: ToolCallDetails { title: Some(TRUST_TITLE.to_owned()), ..ToolCallDetails::default() },
        })),
    );
    let option =
        |id: &str, name: &str, kind| ApprovalOption { id: id.to_owned(), name: name.to_owned(), kind };
    let request = ApprovalRequest {
        call_id: call_id.clone(),
        agent: "OpenAgents".to_owned(),
        title: TRUST_TITLE.to_owned(),
        raw_input: serde_json::to_value(question).ok(),
        command: None,
        cut: !question.brings.complete,
        options: vec![
            option(TRUST, "Trust", OptionKind::AllowAlways),
            option(NOT_NOW, "Not now", OptionKind::RejectOnce),
        ],
    };
    let asked = Question::trust(request, agent_id);
    let id = asked.id().to_owned();
    let answer = asked.ask(session).wait(&[cancel], || turns.given_up());
    let end = |status| {
        let details = ToolCallDetails::default();
        let update = ToolCallUpdate { call_id: call_id.clone(), status, late: false, details };
        show(session, AgentEvent::Update(SessionUpdate::ToolCallUpdate(update)));
    };
    let error = |message: &str| ToolCallStatus::Error { message: message.to_owned() };
    match answer {
        ApprovalOutcome::Selected { option_id, .. } if option_id == TRUST && question.brings.complete => {
            let by = answered_by(turns, &id);
            match grant(&turns.sessions, &question.workspace, &question.brings, &by) {
                Ok(_) => {
                    end(ToolCallStatus::Completed { output: "trusted".into(), cut: Cut::default() });
                    Ok(())
                }
                Err(fault) => {
                    end(error("it could not be stored"));
                    Err(failed(session, fault.to_string()))
                }
            }
        }
        ApprovalOutcome::Cancelled if cancel.is_cancelled() || turns.sessions.stopping().is_cancelled() => {
            end(error("Cancelled"));
            session.append(vec![word(CANCELLED, RunState::Cancelled)]);
            Err(PromptOutcome {
                state: RunState::Cancelled,
                text: CANCELLED.to_owned(),
                usage: None,
                cut_off: false,
            })
        }
        ApprovalOutcome::Selected { .. } | ApprovalOutcome::Cancelled => {
            end(error("Not now"));
            let text = format!(
                "{} was not started, because {} is not trusted. Send the prompt again to be asked again.",
                question.agent,
                shown(&question.workspace)
            );
            session.append(vec![word(&text, RunState::Failed)]);
            Err(PromptOutcome { state: RunState::Failed, text, usage: None, cut_off: false })
        }
    }
}

fn failed(session: &Arc<Session>, reason: String) -> PromptOutcome {
    let fault = SessionError::internal(reason);
    session.append(vec![refusal(&fault)]);
    PromptOutcome { state: RunState::Failed, text: format!("❌ {fault}"), usage: None, cut_off: false }
}

pub(super) fn shown(path: &Path) -> String {
    escaped(&path.to_string_lossy()).into_owned()
}

/// Returns the name of the client that answered.
fn answered_by(turns: &TurnContext, id: &str) -> String {
    match turns.store().approval(id) {
        Ok(Some(Asked { approval: Approval { state: ApprovalState::Answered { by, .. }, .. }, .. })) => by,
        Ok(_) => String::new(),
        Err(error) => {
            tracing::warn!(%error, "could not read who trusts a workspace");
            String::new()
        }
    }
}

/// Stores that a person trusts a folder with its agent settings, and answers other questions about it. Returns the
/// workspace that covers it. Blocks.
pub(super) fn grant(
    sessions: &SessionRegistry,
    folder: &Path,
    brings: &AgentFiles,
    by: &str,
) -> Result<PathBuf, StoreError> {
    let covered_by = sessions.trusted().trust(folder, brings, by)?;
    for session in sessions.all_live() {
        let work = session.open_work();
        for approval in work.of(&None).filter_map(Open::approval) {
            let Some(mut question) = question(approval) else { continue };
            if sessions.trusted().verdict(&question.workspace, &mut question.brings) != Verdict::Trusted {
                continue;
            }
            let (id, option_id, by) = (approval.id.clone(), TRUST.to_owned(), by.to_owned());
            if let Err(error) = session.decide(ApprovalChange::Answer { id, option_id, by, message: None }) {
                tracing::warn!(%error, "could not answer a question about a trusted workspace");
            }
        }
    }
    Ok(covered_by)
}

/// Returns the question of a pending approval; `None` if it is about something else.
fn question(approval: &Approval) -> Option<TrustQuestion> {
    let input = approval.raw_input.as_ref().filter(|_| approval.subject == ApprovalSubject::Trust)?;
    serde_json::from_value(input.clone()).ok()
}

/// Returns the prompt that waits for the answer to a question about trust. `Some(None)` if it was not kept.
pub(super) fn waiting_prompt(approval: &Approval) -> Option<Option<Said>> {
    (approval.subject == ApprovalSubject::Trust)
        .then(|| question(approval).and_then(|question| question.prompt).map(Said::from))
}
