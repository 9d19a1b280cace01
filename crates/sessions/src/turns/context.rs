//! The context of running turns.

use super::runner::{Responder, Runner};
use crate::{
    error::SessionError,
    live::{PromptContent, Question, Session, Ticket, TurnRequest, final_message},
    modes::DEFAULT_MODE,
    registry::SessionRegistry,
    store::{Asked, Store},
};
use openagents_core::{
    CancellationToken,
    agent::{
        AGENT_SETTINGS, AgentCommand, AgentEvent, AgentSettings, AgentSettingsChange, Conversation,
        ToolServer, WorkspaceAgent,
    },
    approval::{
        ApprovalOption, ApprovalOutcome, ApprovalRequest, ApprovalState, ApprovalSubject, OptionKind,
    },
    model::{LanguageModel, SettingsStore},
    update::{RunState, SessionUpdate, Target},
};
use openagents_orchestration::route::{Candidate, Situation};
use openagents_tools::{
    reading::{Readable, Reader, ReadingRules},
    tool::Toolbox,
};
use openagents_transcripts::history::History;
use serde_json::Value;
use std::{fmt, future::Future, path::Path, pin::Pin, sync::Arc};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Maximum number of concurrent delegates. More are refused, so that a model cannot delegate endlessly.
pub(crate) const DELEGATES: usize = 8;

pub(crate) trait StartTurn: fmt::Debug + Send + Sync {
    /// Starts a turn, or queues it behind the running one. Its prompt is in the log when this returns.
    fn start(
        self: Arc<Self>,
        session: Arc<Session>,
        request: TurnRequest,
    ) -> Pin<Box<dyn Future<Output = Result<Ticket, SessionError>> + Send>>;
}

/// State shared by all turns.
#[derive(Debug, Clone)]
pub(crate) struct TurnContext {
    pub(crate) sessions: Arc<SessionRegistry>,
    pub(crate) runner: Arc<Runner>,
    pub(crate) settings: Arc<dyn SettingsStore>,
    /// Separate slots: a delegate must not wait for the slot of the turn that waits for it.
    pub(crate) delegates: Arc<Semaphore>,
    pub(crate) turns: Arc<dyn StartTurn>,
}

impl TurnContext {
    pub(crate) fn store(&self) -> &Store {
        self.sessions.store()
    }

    pub(crate) fn given_up(&self) -> ApprovalState {
        self.sessions.given_up()
    }

    pub(crate) fn agent_settings(&self) -> AgentSettings {
        match self.settings.get(AGENT_SETTINGS) {
            Ok(settings) => {
                settings.and_then(|settings| serde_json::from_value(settings).ok()).unwrap_or_default()
            }
            Err(error) => {
                tracing::warn!(%error, "could not read the agent settings");
                AgentSettings::default()
            }
        }
    }

    /// Returns the tools for `reader` in a workspace. Every model gets its tools here.
    pub(crate) fn tools(&self, reader: Reader, workspace: &Path) -> Toolbox {
        ReadingRules::stored(&*self.settings).toolbox(reader, &self.runner.tools, workspace)
    }

    /// Returns the history for a search whose results the user sees.
    pub(crate) fn history_of(&self, workspace: &Path) -> Arc<History> {
        Arc::new(self.runner.tools.history.of_workspace(workspace))
    }

    /// Returns whether a provider may get past sessions of its workspace in a brief that the user has read.
    pub(crate) fn may_get_history(&self, provider: &str) -> bool {
        match self.runner.responder(provider) {
            Ok(Responder::Model(model, _)) => ReadingRules::stored(&*self.settings)
                .allows(Reader::for_model(model.as_ref()), Readable::History),
            Ok(Responder::Agent(_)) | Err(_) => true,
        }
    }

    /// Acquires a delegate slot; `None` if all are in use.
    pub(crate) fn delegate_slot(&self) -> Option<OwnedSemaphorePermit> {
        self.delegates.clone().try_acquire_owned().ok()
    }

    /// Returns the MCP servers that an agent gets in a folder: those of the folder or of the nearest one above it.
    pub(crate) fn tools_for(&self, folder: &Path, agent: &str) -> Vec<ToolServer> {
        let mut tools = self.agent_settings().tools;
        let servers = folder.ancestors().find_map(|above| tools.remove(above)).unwrap_or_default();
        servers.into_iter().filter(|server| server.is_for(agent)).collect()
    }

    pub(crate) fn situation(&self, session: &Session) -> Situation {
        let settings = self.agent_settings();
        let chosen = settings.workspace_agents.get(session.cwd());
        Situation {
            candidates: self.runner.candidates(),
            allows_external: session.policy().allows_external(settings.allow_external_llms),
            workspace_agent: chosen.and_then(|id| Target::of_mode(id)),
        }
    }
}

pub(crate) fn show(session: &Arc<Session>, event: AgentEvent) {
    match event {
        AgentEvent::Update(update) => session.append(vec![update]),
        AgentEvent::Activity(activity) => session.set_activity(activity),
    }
}

/// Returns the conversation of a session; empty if it cannot be read.
pub(crate) fn transcript(session: &Session, cancel: &CancellationToken) -> Conversation {
    session.transcript(cancel).unwrap_or_else(|error| {
        tracing::warn!(%error, "could not read the transcript");
        Conversation::default()
    })
}

/// Returns the reader that a model acts as in a session: if it answers for a model elsewhere, it reads no more than
/// that one.
pub(crate) fn reader(session: &Session, model: &dyn LanguageModel) -> Reader {
    let own = Reader::for_model(model);
    session.policy().answers.map_or(own, |asking| asking.delegating(own))
}

/// Returns the conversation of a session for `reader`, whose provider is `provider`.
pub(crate) fn transcript_for(
    reader: Reader,
    provider: &str,
    session: &Session,
    cancel: &CancellationToken,
) -> Conversation {
    let transcript = transcript(session, cancel);
    match reader {
        Reader::Local => transcript,
        Reader::Elsewhere | Reader::Hosted => transcript.for_reader_elsewhere(provider),
    }
}

pub(crate) fn refusal(fault: &SessionError) -> SessionUpdate {
    final_message(&format!("❌ {fault}"), RunState::Failed)
}

pub(crate) const CARD_TITLE: &str = "This is work for an agent";

const OFFERED_AGENTS: usize = 5;

/// Prefix of an option id: use the agent for all work in this workspace.
const ALWAYS: &str = "always:";

const NOT_NOW: &str = "not-now";

/// Asks the user which of `offered` may do the work in `question`, and stores an "always". `agent_id` is the asking
/// mode. `None` if the user declines, the turn is cancelled, or there is nothing to offer. Blocks.
pub(crate) fn ask_for_agent(
    turns: &TurnContext,
    session: &Arc<Session>,
    call_id: &str,
    (question, agent_id): (Value, &str),
    offered: &[Candidate],
    cancel: &CancellationToken,
) -> Option<Candidate> {
    let offered = &offered[..offered.len().min(OFFERED_AGENTS)];
    if offered.is_empty() {
        return None;
    }
    let request = ApprovalRequest {
        subject: ApprovalSubject::Action,
        call_id: call_id.to_owned(),
        agent: "OpenAgents".to_owned(),
        title: CARD_TITLE.to_owned(),
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

pub(crate) fn card_prompt(asked: &Asked) -> Option<PromptContent> {
    let question = asked.approval.raw_input.as_ref().filter(|_| asked.agent_id == DEFAULT_MODE)?;
    let text = |name: &str| question.get(name).and_then(Value::as_str).map(str::to_owned);
    let images = question.get("images").and_then(|images| serde_json::from_value(images.clone()).ok());
    let images = images.unwrap_or_default();
    Some(PromptContent { words: text("words"), images, ..PromptContent::from(text("prompt")?) })
}
