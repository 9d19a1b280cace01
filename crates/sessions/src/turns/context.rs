//! The context of running turns.

use super::runner::Runner;
use crate::{
    error::SessionError,
    live::{Session, Ticket, TurnRequest, word},
    registry::SessionRegistry,
    store::Store,
};
use openagents_core::{
    CancellationToken,
    agent::{AGENT_SETTINGS, AgentEvent, AgentSettings, Conversation},
    approval::ApprovalState,
    model::SettingsStore,
    route::Situation,
    update::{RunState, SessionUpdate, Target},
};
use std::{fmt, future::Future, pin::Pin, sync::Arc};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Maximum number of concurrent delegates. More are refused, so that a model cannot delegate without end.
pub(crate) const DELEGATES: usize = 8;

/// Starts the turns of delegates.
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

    /// See [`SessionRegistry::given_up`].
    pub(crate) fn given_up(&self) -> ApprovalState {
        self.sessions.given_up()
    }

    /// Returns the agent settings.
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

    /// Acquires a delegate slot; `None` if all are in use.
    pub(crate) fn delegate_slot(&self) -> Option<OwnedSemaphorePermit> {
        self.delegates.clone().try_acquire_owned().ok()
    }

    /// Returns the candidates and permissions for routing in a session.
    pub(crate) fn situation(&self, session: &Session) -> Situation {
        let settings = self.agent_settings();
        let chosen = settings.workspace_agents.get(session.cwd());
        Situation {
            candidates: self.runner.candidates(),
            allows_external: session.policy().allow_external_llms || settings.allow_external_llms,
            workspace_agent: chosen.and_then(|id| Target::of_mode(id)),
        }
    }
}

/// Shows an event in a session.
pub(crate) fn show(session: &Arc<Session>, event: AgentEvent) {
    match event {
        AgentEvent::Update(update) => session.append(vec![update]),
        AgentEvent::Activity(activity) => session.show(activity),
    }
}

/// Returns the transcript of a session; empty if it cannot be read.
pub(crate) fn transcript(session: &Session, cancel: &CancellationToken) -> Conversation {
    session.transcript(cancel).unwrap_or_else(|error| {
        tracing::warn!(%error, "could not read the transcript");
        Conversation::default()
    })
}

/// Returns the final message of a refused turn.
pub(crate) fn refusal(fault: &SessionError) -> SessionUpdate {
    word(&format!("❌ {fault}"), RunState::Failed)
}
