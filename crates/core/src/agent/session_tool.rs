//! Tools that write to the session themselves.

use super::AgentEvent;
use crate::{CancellationToken, model::LanguageModel, tool::ToolError, workspace::Workspace};
use serde_json::Value;

/// A tool with its own row in the session, and more: what comes while it runs is told as it comes.
pub trait SessionTool: Send + Sync + std::fmt::Debug {
    /// Returns the name on every wire: `gptoss.generate`.
    fn name(&self) -> &'static str;

    /// Returns what a model needs to know to choose it.
    fn description(&self) -> &'static str;

    /// Returns the JSON schema of the arguments.
    fn schema(&self) -> schemars::Schema;

    /// Returns whether `model` may ask for it.
    fn is_offered_to(&self, model: &dyn LanguageModel) -> bool;

    /// Opens its row, runs, and closes the row on every way out. Returns the text for the caller.
    ///
    /// It blocks, and returns within 100 ms of a cancel.
    fn call(&self, context: &SessionContext<'_>, arguments: Value) -> Result<String, ToolError>;
}

/// What a running session tool may touch.
#[derive(Clone, Copy)]
pub struct SessionContext<'a> {
    /// The workspace of the session.
    pub workspace: &'a Workspace,
    /// Id of its row: unique for ever.
    pub call_id: &'a str,
    /// What the person asked in this turn, in their own words; empty where another agent wrote what is asked.
    pub prompt: &'a str,
    /// Id of the model that asks for the tool; `None` when the person does.
    pub caller: Option<&'a str>,
    /// Cancelled when nobody wants the result any more.
    pub cancel: &'a CancellationToken,
    /// Hears everything that belongs into the session.
    pub emit: &'a (dyn Fn(AgentEvent) + Sync),
}

impl std::fmt::Debug for SessionContext<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("SessionContext").field("call_id", &self.call_id).finish_non_exhaustive()
    }
}
