//! The agent loop: a prompt goes to a model with the tools it may ask for; what it asks for is run and goes back, until
//! it has answered. Everything on the way is told as it happens.
//!
//! The order of the updates is part of the product: preambles as thoughts, each call with its arguments and its end, the
//! answer in chunks that share a message id, the last of them with the figures. Exactly one last word says how a turn
//! ended that did not end with an answer. **Architecture invariant:** [`Reasoning`](crate::model::Reasoning) goes into
//! the next request of the same turn and nowhere else.

mod agents;
mod answer;
mod calls;
mod deltas;
mod generate;
mod grounding;
pub mod inline;
mod instructions;
mod model_agent;
mod provider;
mod run;
mod session_tool;
mod shown;
#[cfg(test)]
pub(crate) mod testing;
mod title;
mod tools;
mod transcript;

pub use agents::{
    AGENT_SETTINGS, AgentCard, AgentCommand, AgentSettings, AgentSettingsChange, Agents, AgentsError,
    AgentsSnapshot, CustomAgent, CustomKind, WorkspaceAgent,
};
pub use deltas::{Deltas, Piece};
pub use generate::{GENERATE, Generate};
pub use instructions::instructions;
pub use model_agent::ModelAgent;
pub use provider::{AccessLimits, AgentHost, AgentProvider, AgentRequest};
pub use session_tool::{SessionContext, SessionTool};
pub use title::title;
pub use transcript::Transcript;

use crate::{
    CancellationToken,
    model::{Activity, LanguageModel, ModelOptions, Usage},
    tool::Toolbox,
    update::{AgentMessage, Findings, RunState, SessionUpdate, ToolCallStatus, ToolCallUpdate},
};
use std::{path::PathBuf, sync::Arc};

/// A model with tools, as it answers prompts.
#[derive(Debug, Clone)]
pub struct AgentLoop {
    /// Answers.
    pub model: Arc<dyn LanguageModel>,
    /// How it answers.
    pub options: ModelOptions,
    /// What it may ask for.
    pub tools: Toolbox,
    /// What it may ask for that writes to the session itself.
    pub session_tools: Vec<Arc<dyn SessionTool>>,
}

/// One turn.
#[derive(Debug, Clone)]
pub struct PromptRequest {
    /// The workspace; need not exist.
    pub root: PathBuf,
    /// What the person asks, or whoever delegates.
    pub text: String,
    /// What of it the person has written, where that is not all: what is attached is nobody's wish.
    pub words: Option<String>,
    /// What was said in the session before.
    pub transcript: Transcript,
    /// What was found for the question and shown to the person, if it is one: the model reads it, and what it cites is
    /// checked.
    pub findings: Option<Findings>,
    /// Another agent wrote the text and chose the root: the text is no person's word, and the root has to be canonical.
    pub delegated: bool,
}

/// What a turn tells.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "almost all are updates, and none is kept")]
pub enum AgentEvent {
    /// Belongs into the log.
    Update(SessionUpdate),
    /// What the model is doing now; replaces what was told before and is never stored. `None` when nothing runs.
    Activity(Option<Activity>),
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptOutcome {
    /// `Complete`, `Failed` or `Cancelled`.
    pub state: RunState,
    /// The last answer, or the last word of a turn that has none.
    pub text: String,
    /// Figures of the last answer.
    pub usage: Option<Usage>,
    /// The answer reached a limit before its end.
    pub cut_off: bool,
}

/// The last word of a turn that a person stopped.
pub const CANCELLED: &str = "Cancelled.";

impl AgentLoop {
    /// Runs a turn to its end on this thread and tells `emit` of every step. Ends within 100 ms of a cancel.
    pub fn prompt(
        &self,
        request: &PromptRequest,
        cancel: &CancellationToken,
        emit: &(dyn Fn(AgentEvent) + Sync),
    ) -> PromptOutcome {
        run::Run::new(self, request, cancel, emit).finish()
    }
}

/// How the postscript to an answer begins that reached a limit.
const CUT_OFF: &str = "The answer was cut off";

/// Says the last word of a turn: without an id of its own, clients would add it to the message before.
fn say_last(emit: &(dyn Fn(AgentEvent) + Sync), text: &str, usage: Option<Usage>) {
    let message_id = Some(uuid::Uuid::new_v4().to_string());
    let message =
        AgentMessage { text: text.to_owned(), message_id, usage, ended: true, ..AgentMessage::default() };
    emit(AgentEvent::Update(SessionUpdate::AgentMessage(message)));
}

pub(crate) fn end_call(emit: &(dyn Fn(AgentEvent) + Sync), call_id: &str, status: ToolCallStatus) {
    let update =
        ToolCallUpdate { call_id: call_id.to_owned(), status, late: false, details: Default::default() };
    emit(AgentEvent::Update(SessionUpdate::ToolCallUpdate(update)));
}

#[cfg(test)]
#[path = "agent_tests.rs"]
mod tests;
