//! Tools that write to the session.

use openagents_core::{CancellationToken, agent::AgentEvent, model::LanguageModel, workspace::Workspace};
use openagents_tools::tool::ToolError;
use serde_json::Value;

/// A tool that opens its own row in the session and emits updates while it runs.
pub trait SessionTool: Send + Sync + std::fmt::Debug {
    /// Returns the name on the wire: `gptoss.generate`.
    fn name(&self) -> &'static str;

    /// Returns the description for a model.
    fn description(&self) -> &'static str;

    /// Returns the JSON schema of the arguments.
    fn schema(&self) -> schemars::Schema;

    /// Returns whether `model` may call it.
    fn is_offered_to(&self, model: &dyn LanguageModel) -> bool;

    /// Opens its row, runs, and closes the row on every return. Returns the result for the caller.
    ///
    /// Blocks; returns within 100 ms of a cancel.
    fn call(&self, context: &SessionContext<'_>, arguments: Value) -> Result<String, ToolError>;
}

/// Context of a running session tool.
#[derive(Clone, Copy)]
#[expect(missing_debug_implementations, reason = "it lends what is not its own")]
pub struct SessionContext<'a> {
    /// The workspace of the session.
    pub workspace: &'a Workspace,
    /// Id of its row; globally unique.
    pub call_id: &'a str,
    /// The user's prompt of this turn, as typed; empty if another agent wrote it.
    pub prompt: &'a str,
    /// Id of the calling model; `None` if the user calls.
    pub caller: Option<&'a str>,
    /// The past sessions that the caller has read and may repeat in the arguments.
    pub read: HistoryRead,
    /// Cancelled when the result is no longer needed.
    pub cancel: &'a CancellationToken,
    /// Adds an event to the session.
    pub emit: &'a (dyn Fn(AgentEvent) + Sync),
}

/// The past sessions that a conversation has read and may repeat.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HistoryRead {
    /// None.
    #[default]
    Nothing,
    /// Those of its workspace.
    Workspace,
    /// Those of other workspaces too.
    Everywhere,
}
