//! What happens in a session, one update at a time.
//!
//! A session is a numbered log of [`SessionUpdate`]s. The serde form is the one that the event store keeps on disk:
//! fields may be added with `#[serde(default)]`, never renamed.

mod decision;
mod finding;
#[cfg(test)]
mod old_logs_tests;
mod summary;
mod tool_call;

pub use decision::{Decision, Inline, Target};
pub use finding::{Finding, FindingKind, Findings, Place};
pub use summary::{Evidence, IntentSource, RecentWork, Summary};
pub use tool_call::{
    Cut, Location, ToolCall, ToolCallDetails, ToolCallStatus, ToolCallUpdate, ToolContent, ToolKind,
};

use crate::{approval::Approval, model::Usage};
use serde::{Deserialize, Serialize};

/// One entry of a session's log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SessionUpdate {
    /// What a person asked.
    UserMessage(UserMessage),
    /// A part of an answer.
    AgentMessage(AgentMessage),
    /// A part of an agent's visible reasoning.
    AgentThought(AgentThought),
    /// The plan as it stands now; replaces the one before.
    Plan(PlanSnapshot),
    /// A tool is about to run.
    ToolCall(ToolCall),
    /// News of a tool call that was announced before.
    ToolCallUpdate(ToolCallUpdate),
    /// The session's mode changed.
    Mode(ModeChange),
    /// The session has a new title.
    Title(Title),
    /// Who answers the prompt before, and why.
    Routed(Decision),
    /// A permission that an agent asks for, or what became of it; replaces what was said of the same id before.
    Approval(Approval),
    /// What happened in the session of a delegate, shown in the session that delegated.
    Delegated(Delegated),
}

/// See [`SessionUpdate::Delegated`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Delegated {
    /// The `delegate.run` call of this session.
    pub parent_call_id: String,
    /// The session of the delegate, which has the same update in its own log.
    pub child_session_id: String,
    /// Never a delegated one itself: a delegate's delegates are shown in its own session.
    pub update: Box<SessionUpdate>,
}

/// See [`SessionUpdate::UserMessage`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct UserMessage {
    /// Plain text as the person typed it.
    pub text: String,
    /// The connection that sent the prompt, so that it can recognise its own echo.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection: Option<String>,
    /// The name of the client that sent it, for the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// What the client itself calls the prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_id: Option<String>,
    /// What we call it, as long as it waits and ever after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// Somebody took the prompt of this id back before its turn began: nobody answers it, and no model reads it. Told by
    /// a message of its own, without text.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub removed: bool,
}

/// See [`SessionUpdate::AgentMessage`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentMessage {
    /// Markdown.
    pub text: String,
    /// Chunks with the same id belong to one message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// Set on the final message of an exploration that ended with a summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<Summary>,
    /// Set on the message that lists what a question or an exploration found; its text says the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub findings: Option<Findings>,
    /// Set on the last chunk of a model's answer, whose text may be empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Set on the last message of a turn: nothing more of that turn comes after it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ended: bool,
    /// It came from an agent after its turn had been cancelled.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub late: bool,
}

/// What turns said last that a person stopped, in logs that are older than [`AgentMessage::ended`].
const LAST_WORDS: [&str; 3] = ["Cancelled.", "Exploration cancelled.", "Cancelled before it began."];

impl AgentMessage {
    /// Returns whether a turn ends with this message. A later chunk with the same id says otherwise.
    pub fn ends_turn(&self) -> bool {
        self.ended
            || self.usage.is_some()
            || self.summary.is_some()
            || LAST_WORDS.contains(&self.text.as_str())
    }
}

/// See [`SessionUpdate::AgentThought`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentThought {
    /// Markdown.
    pub text: String,
    /// Chunks with the same id belong to one thought.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// It came from an agent after its turn had been cancelled.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub late: bool,
}

/// See [`SessionUpdate::Mode`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModeChange {
    /// `default_mode`, `codex`, `claude-code`, `gptoss_20b` or `custom:<id>`.
    pub mode_id: String,
}

/// See [`SessionUpdate::Title`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Title {
    /// One line.
    pub title: String,
}

/// A plan and how far it has come.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanSnapshot {
    /// UUID of the plan; the same in every snapshot of one run.
    pub plan_id: String,
    /// What the run was asked to find out.
    pub goals: Vec<String>,
    /// The state of the whole run.
    pub state: RunState,
    /// One entry for each op, in the order of execution.
    pub entries: Vec<PlanEntry>,
}

/// The state of a run. "Plan Failed" is shown for [`RunState::Failed`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// Ops are still to come.
    Running,
    /// It ended with a summary.
    Complete,
    /// It could not run, or every op failed.
    Failed,
    /// A person stopped it.
    Cancelled,
}

impl RunState {
    /// Returns the word that every dialect uses for this state.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Complete => "complete",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// One step of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanEntry {
    /// What the step does, in a person's words: `Read README.md:1-50`.
    pub content: String,
    /// How far it is. A failed op is `Completed` and has an `error`.
    pub status: EntryStatus,
    /// UUID of the op; also the call id of its tool call.
    pub op_id: String,
    /// xxh32 of the op's canonical JSON.
    pub op_hash: u32,
    /// Name of the tool that runs it.
    pub tool: String,
    /// Why the op failed, or `not run`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The protocol's three statuses of a plan entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryStatus {
    /// Not begun.
    Pending,
    /// Running now.
    InProgress,
    /// Over, well or badly.
    Completed,
}
