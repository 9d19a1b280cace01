//! The tool `delegate.run`: a task is handed to another agent, which works in a session of its own.

mod arguments;
mod brief;
mod provider;
mod tool;

pub use brief::{brief, with_findings};
pub use tool::Delegate;

use crate::{
    CancellationToken,
    agent::AccessLimits,
    route::{Candidate, Situation},
};
use serde::Serialize;
use std::{path::PathBuf, time::Duration};

/// Name of the tool.
pub const DELEGATE: &str = "delegate.run";
/// The older name: the same tool with `provider: "codex"`.
pub const CODEX_RUN: &str = "codex.run";

/// A task for another agent, with everything checked that can be checked here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DelegateOrder {
    /// The provider's id: `codex`, `claude-code`, `gptoss_20b`, `local_fm`, `custom:<id>`.
    pub provider: String,
    /// One line for people.
    pub description: Option<String>,
    /// The whole text for the delegate: the task with what it was told to keep to.
    pub text: String,
    /// Inside the workspace of the session that delegates.
    pub root: PathBuf,
    /// What it may touch.
    pub limits: AccessLimits,
    /// Ask for a summary at the end.
    pub summarize: bool,
    /// At this time the row says so; at twice of it the delegate is cancelled.
    pub time_budget: Option<Duration>,
}

/// How a delegation ended; the result of the tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DelegateReport {
    /// The delegate ended its turn well, or the dry run would have been dispatched.
    pub ok: bool,
    /// Who worked, as in [`DelegateOrder::provider`].
    pub provider: String,
    /// Somebody was set to work.
    pub dispatched: bool,
    /// The delegate's session; absent when nobody was set to work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The call in the session that delegated.
    pub tool_call_id: String,
    /// What there is to say: the summary, or why it did not work and who is available.
    pub notes: String,
}

/// Sets agents to work for one session. Implemented by the owner of the sessions.
pub trait Delegator: Send + Sync + std::fmt::Debug {
    /// Returns the agents that a task can be handed to, and what the person allowed.
    fn situation(&self) -> Situation;

    /// Asks the person which of `offered` may do a task, with `brief` as what it would be told. Returns the id; `None` when
    /// the person refuses or the call is cancelled. Blocks; returns within 100 ms of a cancel.
    fn ask(
        &self,
        brief: &str,
        offered: &[Candidate],
        call_id: &str,
        cancel: &CancellationToken,
    ) -> Option<String>;

    /// Runs a delegate to its end in a session of its own, whose updates appear in this one under `call_id`. Blocks;
    /// returns within 100 ms of a cancel.
    fn run(&self, order: &DelegateOrder, call_id: &str, cancel: &CancellationToken) -> DelegateReport;
}
