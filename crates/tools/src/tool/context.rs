//! Context of a running tool.

use super::limits::Limits;
use openagents_core::{
    budget::{Budget, Progress},
    workspace::Workspace,
};
use openagents_transcripts::history::History;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Context of a tool call.
#[derive(Clone, Copy)]
#[expect(missing_debug_implementations, reason = "it lends what is not its own")]
pub struct ToolContext<'a> {
    /// The only directory that a workspace tool may access.
    pub workspace: &'a Workspace,
    /// The transcripts of other agents on this machine.
    pub history: &'a History,
    /// The caps.
    pub limits: &'a Limits,
    /// Cancelled when the result is no longer needed.
    pub cancel: &'a CancellationToken,
    /// Receives the progress of a long call.
    pub progress: &'a dyn Progress,
}

impl ToolContext<'_> {
    /// Starts the time budget of a call.
    pub fn budget(&self, time: Duration) -> Budget {
        Budget::within(time, self.cancel)
    }
}
