//! What a running tool may touch, and how long it may take.

use super::{Limits, Registry};
use crate::{
    budget::{Budget, Progress},
    history::History,
    workspace::Workspace,
};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// What a tool is given beside its arguments.
#[derive(Clone, Copy)]
pub struct ToolContext<'a> {
    /// The session that the call belongs to, if it belongs to one.
    pub session: Option<&'a str>,
    /// The only directory that a workspace tool may touch.
    pub workspace: &'a Workspace,
    /// The logs that other agents left on this machine.
    pub history: &'a History,
    /// The tools, for those that call others.
    pub registry: &'a Registry,
    /// The caps.
    pub limits: &'a Limits,
    /// Cancelled when nobody wants the result any more.
    pub cancel: &'a CancellationToken,
    /// Told how far a long call is.
    pub progress: &'a dyn Progress,
}

impl std::fmt::Debug for ToolContext<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("ToolContext").field("workspace", self.workspace).finish_non_exhaustive()
    }
}

impl ToolContext<'_> {
    /// Starts the clock of a call.
    pub fn budget(&self, time: Duration) -> Budget {
        Budget::new(Instant::now() + time, self.cancel.clone())
    }
}
