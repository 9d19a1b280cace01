//! Workspace trust: no hosted agent starts in a folder that the user has not trusted on this computer.

use super::{
    context::{TurnContext, show},
    own_question::{self, ask_own_question, option, shown},
};
use crate::{
    live::{Prompt, PromptContent, Question, Session},
    registry::SessionRegistry,
    store::{ApprovalChange, Asked, Open, StoreError},
    trusted::Verdict,
};
use openagents_core::{
    CancellationToken,
    agent::{AgentProvider, PromptOutcome, end_turn},
    approval::{Approval, ApprovalRequest, ApprovalState, ApprovalSubject, OptionKind},
    trust::{AgentFiles, NOT_NOW, TRUST, TRUST_TITLE, TrustQuestion, scan_folder},
    update::{Cut, RunState, ToolCallStatus},
    workspace::WorkspaceError,
};
use std::{
    collections::BTreeSet,
    fmt::Display,
    path::{Path, PathBuf},
    sync::Arc,
};

const CALL: &str = "workspace.trust";

/// Maximum size of a prompt that is kept with the question, in bytes. The user has to send a longer one again.
const KEPT_PROMPT: usize = 32 << 10;

/// Asks the user to trust the folders whose settings an agent loads for a prompt, if needed. Blocks until the agent may
/// start; otherwise returns the turn's outcome, whose final message has already been shown.
pub(crate) fn gate(
    turns: &TurnContext,
    session: &Arc<Session>,
    agent: &dyn AgentProvider,
    prompt: &Prompt,
    cancel: &CancellationToken,
) -> Result<(), PromptOutcome> {
    // Checked again after every answer: a file may have changed while the question was open.
    loop {
        let mut has_asked = false;
        for folder in folders(agent, &prompt.root, cancel) {
            let mut brings = match scan_folder(&folder) {
                Ok(brings) => brings,
                // An agent's own folder may be the home folder: its contents are the user's own.
                Err(WorkspaceError::TooWide(_)) if folder != prompt.root => continue,
                Err(error) => return Err(failed(session, error)),
            };
            let again = match turns.sessions.trusted().verdict(&folder, &mut brings) {
                Verdict::Trusted => continue,
                Verdict::Unknown => false,
                Verdict::Changed => true,
            };
            let question = TrustQuestion {
                program: agent.program(cancel),
                decides_what_it_asks: agent.decides_what_it_asks()
                    && !own_question::is_confirmed(turns, agent.id(), &folder),
                deletes: agent.deletes_next(&folder, cancel),
                workspace: folder,
                agent: agent.name(),
                again,
                brings,
                prompt: Some(prompt.content.text.clone()).filter(|text| text.len() <= KEPT_PROMPT),
                images: prompt.content.images.clone(),
            };
            ask(turns, session, agent.id(), &question, cancel)?;
            has_asked = true;
        }
        if !has_asked {
            return Ok(());
        }
    }
}

/// Returns whether an agent may start in a folder without a question. Reads files. Blocks.
pub(crate) fn is_trusted(
    turns: &TurnContext,
    agent: &dyn AgentProvider,
    root: &Path,
    cancel: &CancellationToken,
) -> bool {
    folders(agent, root, cancel).iter().all(|folder| match scan_folder(folder) {
        Ok(mut brings) => {
            matches!(turns.sessions.trusted().verdict(folder, &mut brings), Verdict::Trusted)
        }
        // An agent's own folder may be the home folder: its contents are the user's own.
        Err(WorkspaceError::TooWide(_)) => folder != root,
        Err(_) => false,
    })
}

/// Returns the folders whose settings an agent loads: the workspace, and the folder that its program starts in.
fn folders(agent: &dyn AgentProvider, root: &Path, cancel: &CancellationToken) -> BTreeSet<PathBuf> {
    let real = |path: PathBuf| path.canonicalize().unwrap_or(path);
    // If the agent's folder does not exist, starting the agent fails.
    let own = agent.folder(cancel).filter(|folder| folder.is_dir());
    std::iter::once(root.to_owned()).chain(own).map(real).collect()
}

fn ask(
    turns: &TurnContext,
    session: &Arc<Session>,
    agent_id: &str,
    question: &TrustQuestion,
    cancel: &CancellationToken,
) -> Result<(), PromptOutcome> {
    let workspace = shown(&question.workspace);
    let ask = |call_id: &str| {
        let request = ApprovalRequest {
            subject: ApprovalSubject::Trust,
            call_id: call_id.to_owned(),
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
        Question::new(request, agent_id)
    };
    let asked = ask_own_question(turns, session, (CALL, &workspace, TRUST_TITLE), ask, cancel);
    if asked.chosen.as_deref() != Some(TRUST) || !question.brings.complete {
        let text = format!(
            "{} was not started, because {workspace} is not trusted. Send the prompt again to be asked again.",
            question.agent,
        );
        return Err(asked.refuse(turns, session, cancel, text));
    }
    let by = answering_client(turns, &asked.id);
    match grant(&turns.sessions, &question.workspace, &question.brings, &by) {
        Ok(_) => {
            if question.decides_what_it_asks {
                own_question::confirm(turns, [agent_id.to_owned()], &question.workspace);
            }
            asked.end(session, ToolCallStatus::Completed { output: "trusted".into(), cut: Cut::default() });
            Ok(())
        }
        Err(fault) => {
            asked.end(session, ToolCallStatus::Error { message: "it could not be stored".to_owned() });
            Err(failed(session, fault))
        }
    }
}

fn failed(session: &Arc<Session>, reason: impl Display) -> PromptOutcome {
    end_turn(&|event| show(session, event), RunState::Failed, format!("❌ {reason}"))
}

fn answering_client(turns: &TurnContext, id: &str) -> String {
    match turns.store().approval(id) {
        Ok(Some(Asked { approval: Approval { state: ApprovalState::Answered { by, .. }, .. }, .. })) => by,
        Ok(_) => String::new(),
        Err(error) => {
            tracing::warn!(%error, "could not read who trusts a workspace");
            String::new()
        }
    }
}

/// Stores that the user trusts a folder with its agent settings, and answers other questions about it. Returns the
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
        for approval in work.in_scope(&None).filter_map(Open::approval) {
            let Some(mut question) = question(approval) else { continue };
            if sessions.trusted().verdict(&question.workspace, &mut question.brings) != Verdict::Trusted {
                continue;
            }
            let (id, option_id, by) = (approval.id.clone(), TRUST.to_owned(), by.to_owned());
            let change = ApprovalChange::Answer { id, option_id, by, message: None, content: None };
            if let Err(error) = session.decide(change) {
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
pub(super) fn waiting_prompt(approval: &Approval) -> Option<Option<PromptContent>> {
    (approval.subject == ApprovalSubject::Trust).then(|| {
        let TrustQuestion { prompt, images, .. } = question(approval)?;
        Some(PromptContent { images, ..PromptContent::from(prompt?) })
    })
}
