//! Agents with their own loop, and the session that hosts them.

use super::{
    conversation::Conversation,
    event::{AgentEvent, PromptOutcome},
};
use crate::{
    CancellationToken,
    approval::Approvals,
    model::{Availability, LanguageModel},
};
use serde::{Deserialize, Serialize};
use std::{path::PathBuf, sync::Arc};

/// Answers prompts in a session: a model with tools, a program that speaks ACP, a command line.
pub trait AgentProvider: Send + Sync + std::fmt::Debug {
    /// Returns its id, which is also its mode: `codex`, `claude-code`, `custom:<id>`, `gptoss_20b`.
    fn id(&self) -> &str;

    /// Returns the display name: `Codex`.
    fn name(&self) -> String;

    /// Returns whether prompts stay on this machine.
    fn is_local(&self) -> bool;

    /// Returns the program that runs for a prompt; `None` if it starts none. Blocks while that is looked up, unless it is
    /// cancelled.
    fn program(&self, _cancel: &CancellationToken) -> Option<PathBuf> {
        None
    }

    /// Returns the folder that the program starts in, if it has one of its own and does not start in the workspace.
    fn folder(&self, _cancel: &CancellationToken) -> Option<PathBuf> {
        None
    }

    /// Returns the last known availability; starts nothing and never blocks.
    fn availability(&self) -> Availability;

    /// Returns the model of a provider without its own loop. The owner of the session then runs the loop with the
    /// session's tools, and [`AgentProvider::prompt`] is not called.
    fn model(&self) -> Option<Arc<dyn LanguageModel>> {
        None
    }

    /// Runs a turn on this thread. Returns within 100 ms of a cancel; later output of the agent reaches the host as
    /// late. Every announced tool call is closed, and every turn ends with exactly one
    /// [ending](crate::update::AgentMessage::ends_turn) message.
    fn prompt(
        &self,
        request: &AgentRequest,
        host: Arc<dyn AgentHost>,
        cancel: &CancellationToken,
    ) -> PromptOutcome;

    /// Stops what it keeps running for a session. Returns immediately.
    fn close(&self, session_id: &str);

    /// Stops all of its processes with their process groups. Blocks for little more than 2 s.
    fn shut_down(&self) {}
}

/// One turn for an agent.
#[derive(Debug, Clone)]
pub struct AgentRequest {
    /// Our session.
    pub session_id: String,
    /// The workspace; the agent's file access through us is limited to it.
    pub root: PathBuf,
    /// The prompt.
    pub text: String,
    /// History of the session, for agents that keep none themselves.
    pub transcript: Conversation,
    /// The agent's own id of this session, after an earlier turn.
    pub resume: Option<String>,
    /// Limits of its file access through us.
    pub limits: AccessLimits,
}

/// Limits of a delegate, enforced if its file access goes through us.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessLimits {
    /// Globs relative to the workspace; empty allows everything.
    pub include: Vec<String>,
    /// Maximum number of files read or written per turn.
    pub max_files: Option<u32>,
}

/// The session that hosts an agent.
pub trait AgentHost: Approvals + Send + Sync {
    /// Adds an event to the session, in order.
    fn emit(&self, event: AgentEvent);

    /// Stores the agent's own id of this session for [`AgentRequest::resume`].
    fn remember(&self, agent_session_id: &str);
}
