//! What a running tool may touch, and how long it may take.

use super::{Limits, Registry, ToolError};
use crate::{history::History, workspace::Workspace};
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

/// Hears how far a call is.
pub trait Progress: Send + Sync {
    /// Reports `done` of `total` units.
    fn report(&self, done: u64, total: u64);
}

/// Nobody listens.
impl Progress for () {
    fn report(&self, _done: u64, _total: u64) {}
}

/// A deadline and a cancellation, checked together.
#[derive(Debug, Clone)]
pub struct Budget {
    deadline: Instant,
    cancel: CancellationToken,
}

impl Budget {
    /// Ends at `deadline` or when `cancel` is cancelled, whatever comes first.
    pub fn new(deadline: Instant, cancel: CancellationToken) -> Self {
        Self { deadline, cancel }
    }

    /// Starts the clock of work that is no tool call.
    pub fn within(time: Duration, cancel: &CancellationToken) -> Self {
        Self { deadline: Instant::now() + time, cancel: cancel.clone() }
    }

    /// Returns whether the work should stop now, for either reason.
    pub fn spent(&self) -> bool {
        self.cancel.is_cancelled() || Instant::now() >= self.deadline
    }

    /// Returns whether the deadline has passed.
    pub fn timed_out(&self) -> bool {
        Instant::now() >= self.deadline
    }

    /// Fails when somebody cancelled.
    pub fn check_cancelled(&self) -> Result<(), ToolError> {
        if self.cancel.is_cancelled() { Err(ToolError::Cancelled) } else { Ok(()) }
    }
}
