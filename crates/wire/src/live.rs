//! What the agents on this computer are doing right now.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// What a session's agent is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "kebab-case")]
pub enum LiveKind {
    /// It runs and has had no prompt yet.
    Idle,
    Working,
    /// It cannot continue without the user.
    Needs,
    Done,
    Failed,
    /// A turn is unfinished and nothing continues it.
    Stopped,
    /// The evidence allows several states.
    Unclear,
}

/// How a state is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "kebab-case")]
pub enum Certainty {
    /// The agent publishes it.
    Reported,
    /// It is in the log, or in the table of processes.
    Seen,
    /// It follows from what is missing.
    Inferred,
}

/// A session of an agent that runs in a terminal or an editor, or that ended in a way the user should know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct LiveSession {
    /// `claude-code`, `codex`, …
    pub provider: String,
    /// The agent's display name.
    pub agent: String,
    /// The agent's id of the session, as in `history/list`; absent while it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The folder in which it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    pub state: LiveKind,
    /// A few words: `approval`, `rate limit`, `exited during a turn`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The tool that runs or waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// When the state began, in milliseconds since the epoch.
    #[ts(type = "number")]
    pub since: i64,
    /// How the state is known.
    pub certainty: Certainty,
    /// A sentence that says why, without a full stop.
    pub evidence: String,
    /// Where it runs, such as `tmux work:2.1`; for clients on this computer only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
}

/// The agents that run, and what they are doing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct LiveSnapshot {
    /// Those that need the user first, longest wait first; then the others by when their state began, newest first.
    pub sessions: Vec<LiveSession>,
    /// When the evidence was last looked at, in milliseconds since the epoch.
    #[ts(type = "number")]
    pub checked: i64,
}
