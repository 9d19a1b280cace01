//! The request and the result of a delegation, and the trait that runs it.

use crate::route::{Candidate, Situation};
use openagents_core::{CancellationToken, agent::AccessLimits};
use serde::Serialize;
use std::{path::PathBuf, time::Duration};

/// A validated task for another agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DelegateOrder {
    /// The provider's id: `codex`, `claude-code`, `gptoss_20b`, `local_fm`, `custom:<id>`.
    pub provider: String,
    /// One line for the user.
    pub description: Option<String>,
    /// The complete text for the delegate: the task and its limits.
    pub text: String,
    /// The folder to work in, inside the workspace of the delegating session.
    pub root: PathBuf,
    pub limits: AccessLimits,
    /// Ask for a summary at the end.
    pub summarize: bool,
    /// After this time the row shows a note; after twice this time the delegate is cancelled.
    pub time_budget: Option<Duration>,
}

/// Result of a delegation, and of the tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DelegateReport {
    /// The delegate completed its turn, or a dry run would have started one.
    pub ok: bool,
    /// The agent, as in [`DelegateOrder::provider`].
    pub provider: String,
    /// An agent was started.
    pub dispatched: bool,
    /// The delegate's session; absent if no agent was started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    pub tool_call_id: String,
    /// The summary, or the reason for a failure and the available agents.
    pub notes: String,
}

/// Runs delegates for one session. Implemented by the owner of the sessions.
pub trait Delegator: Send + Sync + std::fmt::Debug {
    /// Returns the available agents and the user's permissions.
    fn situation(&self) -> Situation;

    /// Asks the user to choose one of `offered` for a task; `brief` is the text it would get. Returns the id; `None` if
    /// the user refuses or the call is cancelled. Blocks; returns within 100 ms of a cancel.
    fn ask(
        &self,
        brief: &str,
        offered: &[Candidate],
        call_id: &str,
        cancel: &CancellationToken,
    ) -> Option<String>;

    /// Runs a delegate in its own session, also shown under `call_id`. Blocks; returns within 100 ms of a cancel.
    fn run(&self, order: &DelegateOrder, call_id: &str, cancel: &CancellationToken) -> DelegateReport;
}
