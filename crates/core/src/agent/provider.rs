//! Agents that answer prompts with a loop of their own, and where they work.

use super::{AgentEvent, PromptOutcome, Transcript};
use crate::{
    CancellationToken,
    approval::Approvals,
    model::{Availability, LanguageModel},
};
use serde::{Deserialize, Serialize};
use std::{path::PathBuf, sync::Arc};

/// Something that answers prompts in a session: a model with tools, a program that speaks ACP, a command line.
pub trait AgentProvider: Send + Sync + std::fmt::Debug {
    /// Returns its id, which is also its mode: `codex`, `claude-code`, `custom:<id>`, `gptoss_20b`.
    fn id(&self) -> &str;

    /// Returns the name that people read: `Codex`.
    fn name(&self) -> String;

    /// Returns whether nothing that it is told leaves this machine.
    fn is_local(&self) -> bool;

    /// Returns whether it would answer now, as far as is known; starts nothing and never blocks.
    fn availability(&self) -> Availability;

    /// Returns the model behind it where it has no loop of its own: then whoever has the session runs the loop, with the
    /// tools of the session, and [`AgentProvider::prompt`] is not called.
    fn model(&self) -> Option<Arc<dyn LanguageModel>> {
        None
    }

    /// Runs a turn to its end on this thread. Returns within 100 ms of a cancel; what an agent says after that is told to
    /// the host as late. Every tool call that it announced is closed, every turn ends with exactly one
    /// [ending](crate::update::AgentMessage::ends_turn) message.
    fn prompt(
        &self,
        request: &AgentRequest,
        host: Arc<dyn AgentHost>,
        cancel: &CancellationToken,
    ) -> PromptOutcome;

    /// Ends what it keeps running for a session. Returns at once.
    fn close(&self, session_id: &str);
}

/// One turn for an agent.
#[derive(Debug, Clone)]
pub struct AgentRequest {
    /// Our session.
    pub session_id: String,
    /// The workspace; an agent's file access through us stays in it.
    pub root: PathBuf,
    /// What the person asks.
    pub text: String,
    /// What was said in the session before, for those who keep no sessions themselves.
    pub transcript: Transcript,
    /// The agent's own id of this session, if there was a turn with it before.
    pub resume: Option<String>,
    /// What it may touch through us.
    pub limits: AccessLimits,
}

/// What a delegate was told to keep to, enforced where its file access goes through us.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessLimits {
    /// Globs relative to the workspace; empty for everything.
    pub include: Vec<String>,
    /// Files that may be read or written in one turn.
    pub max_files: Option<u32>,
}

/// The session that an agent works in.
pub trait AgentHost: Approvals + Send + Sync {
    /// Takes what belongs into the session, in order.
    fn emit(&self, event: AgentEvent);

    /// Remembers the agent's own id of this session, for [`AgentRequest::resume`].
    fn remember(&self, agent_session_id: &str);
}
