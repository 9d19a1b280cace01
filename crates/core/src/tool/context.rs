//! Context of a running tool.

use super::limits::Limits;
use crate::{
    budget::{Budget, Progress},
    history::History,
    workspace::Workspace,
};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Context of a tool call.
#[derive(Clone, Copy)]
pub struct ToolContext<'a> {
    /// The only directory that a workspace tool may access.
    pub workspace: &'a Workspace,
    /// The logs of other agents on this machine.
    pub history: &'a History,
    /// The caps.
    pub limits: &'a Limits,
    /// Cancelled when the result is no longer needed.
    pub cancel: &'a CancellationToken,
    /// Receives the progress of a long call.
    pub progress: &'a dyn Progress,
}

impl std::fmt::Debug for ToolContext<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("ToolContext").field("workspace", self.workspace).finish_non_exhaustive()
    }
}

impl ToolContext<'_> {
    /// Starts the time budget of a call.
    pub fn budget(&self, time: Duration) -> Budget {
        Budget::within(time, self.cancel)
    }
}
