//! The agent loop: sends a prompt to a model with tools, runs the requested calls and returns their results, until the
//! model answers. Every step is emitted as it happens.
//!
//! The order of the updates is part of the product: preambles as thoughts, each call with its arguments and its end,
//! the answer in chunks that share a message id, the last of them with the figures. A turn that ends without an answer
//! has exactly one final message that says so. **Architecture invariant:** [`Reasoning`](crate::model::Reasoning) goes
//! into the next request of the same turn and nowhere else.

mod agents;
mod answer;
mod calls;
mod coalescer;
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
pub use coalescer::{Coalescer, Piece};
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

/// A model with tools that answers prompts.
#[derive(Debug, Clone)]
pub struct AgentLoop {
    /// The model.
    pub model: Arc<dyn LanguageModel>,
    /// Options of every request.
    pub options: ModelOptions,
    /// Tools that the model may call.
    pub tools: Toolbox,
    /// Tools that write to the session themselves.
    pub session_tools: Vec<Arc<dyn SessionTool>>,
}

/// One turn.
#[derive(Debug, Clone)]
pub struct PromptRequest {
    /// The workspace; need not exist.
    pub root: PathBuf,
    /// The prompt, from a person or a delegating agent.
    pub text: String,
    /// The part of the text that the person typed, if not all of it; attached text is not an instruction.
    pub words: Option<String>,
    /// History of the session.
    pub transcript: Transcript,
    /// Findings for the question, already shown to the person. The model reads them, and its citations are checked.
    pub findings: Option<Findings>,
    /// Another agent wrote the text and chose the root, so the text is not a person's and the root must be canonical.
    pub delegated: bool,
}

/// Events of a turn.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "almost all are updates, and none is kept")]
pub enum AgentEvent {
    /// An entry for the log.
    Update(SessionUpdate),
    /// Current activity of the model; replaces the previous one and is never stored. `None` when idle.
    Activity(Option<Activity>),
}

/// Outcome of a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptOutcome {
    /// `Complete`, `Failed` or `Cancelled`.
    pub state: RunState,
    /// The last answer, or the final message of a turn without one.
    pub text: String,
    /// Figures of the last answer.
    pub usage: Option<Usage>,
    /// The answer reached a limit.
    pub cut_off: bool,
}

/// The final message of a turn that a person stopped.
pub const CANCELLED: &str = "Cancelled.";

impl AgentLoop {
    /// Runs a turn on this thread and emits every step. Returns within 100 ms of a cancel.
    pub fn prompt(
        &self,
        request: &PromptRequest,
        cancel: &CancellationToken,
        emit: &(dyn Fn(AgentEvent) + Sync),
    ) -> PromptOutcome {
        run::Run::new(self, request, cancel, emit).finish()
    }
}

/// Beginning of the note below a truncated answer.
const CUT_OFF: &str = "The answer was cut off";

/// Emits the final message of a turn. It needs its own id, or clients would append it to the previous message.
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
