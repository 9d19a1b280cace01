//! Updates of a session.
//!
//! A session is a numbered log of [`SessionUpdate`]s. Their serde form is stored on disk: fields may be added with
//! `#[serde(default)]`, never renamed.

mod agent_note;
mod agent_state;
mod decision;
mod finding;
#[cfg(test)]
mod old_logs_tests;
mod overview;
mod session_option;
mod summary;
mod tool_call;

pub use agent_note::{AgentNote, CompactionState, NoteContent, Severity};
pub use agent_state::{AgentPart, AgentState, ContextUsage, Cost, OfferedCommand};
pub use decision::{Decision, Inline, Target};
pub use finding::{Finding, FindingKind, Findings, Place};
pub use overview::{
    CodeMap, FactPlace, MapEdge, MapNode, Overview, OverviewBlock, OverviewFact, OverviewTopic,
};
pub use session_option::{
    Asking, OptionChoices, OptionValue, SelectValue, SessionOption, Setting, in_setting_order,
};
pub use summary::{Evidence, IntentSource, RecentWork, Summary};
pub use tool_call::{
    Cut, Location, ToolCall, ToolCallDetails, ToolCallStatus, ToolCallUpdate, ToolContent, ToolKind,
};

use crate::{approval::Approval, model::Usage};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use ts_rs::TS;

/// Returns a new id for an entry of a log.
pub fn new_id() -> String {
    uuid::Uuid::new_v4().to_string()
}

/// One entry of a session's log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SessionUpdate {
    UserMessage(UserMessage),
    /// A part of an answer.
    AgentMessage(AgentMessage),
    /// A part of an agent's visible reasoning.
    AgentThought(AgentThought),
    /// The current plan; replaces the previous one.
    Plan(PlanSnapshot),
    ToolCall(ToolCall),
    ToolCallUpdate(ToolCallUpdate),
    Mode(ModeChange),
    Title(Title),
    Routed(Decision),
    /// An approval or its new state; replaces an earlier one with the same id.
    Approval(Approval),
    Delegated(Delegated),
    AgentState(AgentState),
    AgentNote(AgentNote),
}

/// The beginning of [`Delegated::child_session_id`] for a sub-agent.
pub const SUBAGENT_PREFIX: &str = "sub-agent:";

impl Delegated {
    pub fn is_of_subagent(&self) -> bool {
        self.child_session_id.starts_with(SUBAGENT_PREFIX)
    }
}

/// The name of the call that shows a sub-agent of an agent.
pub const SUBAGENT_TOOL: &str = "subagent.run";

/// See [`SessionUpdate::Delegated`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Delegated {
    /// The `delegate.run` or [`SUBAGENT_TOOL`] call of this session.
    pub parent_call_id: String,
    /// The delegate's session, or a sub-agent, which has no session here: `sub-agent:` and the agent's own id of it.
    pub child_session_id: String,
    /// Never a delegated update itself: nested delegates are shown in the delegate's session.
    pub update: Box<SessionUpdate>,
}

/// See [`SessionUpdate::UserMessage`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct UserMessage {
    /// Plain text as typed.
    pub text: String,
    /// Id of the sending connection, so that it can recognise its own echo.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection: Option<String>,
    /// Name of the sending client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_id: Option<String>,
    /// Our id for the prompt, while queued and afterwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// The prompt with this id was removed before its turn started. Set on a separate message without text.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub removed: bool,
    /// The agent got the prompt with this id during the running turn; no other turn answers it. Set on a separate message
    /// without text.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub steered: bool,
    /// Images, after the text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<PromptImage>,
}

impl UserMessage {
    /// Returns whether this says what became of an earlier prompt.
    pub fn is_mark(&self) -> bool {
        (self.removed || self.steered) && self.text.is_empty() && self.images.is_empty()
    }

    /// Returns the text with a word for each image, for readers that cannot show them.
    pub fn text_with_images(&self) -> Cow<'_, str> {
        text_with_images(&self.text, self.images.len())
    }
}

/// Returns the text of a prompt with a word for each image.
pub fn text_with_images(text: &str, images: usize) -> Cow<'_, str> {
    if images == 0 {
        return Cow::Borrowed(text);
    }
    let words = vec!["[image]"; images].join(" ");
    Cow::Owned(if text.is_empty() { words } else { format!("{text}\n\n{words}") })
}

/// An image of a prompt. Its bytes are stored beside the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PromptImage {
    /// SHA-256 of its bytes, in hexadecimal.
    pub hash: String,
    /// `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
    pub mime_type: String,
    /// In pixels.
    pub width: u32,
    /// In pixels.
    pub height: u32,
}

/// See [`SessionUpdate::AgentMessage`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentMessage {
    /// Markdown.
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// Present on the final message of an exploration that ended with a summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<Summary>,
    /// Present on the message that lists findings; its text has the same content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub findings: Option<Findings>,
    /// Present on the last chunk of a model's answer, whose text may be empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// An overview of the workspace, for clients that cannot draw the one in the summary that follows.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_overview: bool,
    /// Set on the last message of a turn.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ended: bool,
    /// The turn failed: the text is our reason. Absent in older logs, whose reasons begin with `❌`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
    /// Sent by an agent after its turn was cancelled.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub late: bool,
}

impl AgentMessage {
    /// Creates the final message of a turn. It has its own id, or clients would append it to the previous message.
    pub fn last(text: &str, state: RunState) -> Self {
        Self {
            text: text.to_owned(),
            message_id: Some(new_id()),
            ended: true,
            failed: state == RunState::Failed,
            ..Self::default()
        }
    }

    /// Returns whether a turn ends with this message, unless a later chunk has the same id.
    pub fn ends_turn(&self) -> bool {
        self.ended || self.usage.is_some() || self.summary.is_some()
    }
}

/// See [`SessionUpdate::AgentThought`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentThought {
    /// Markdown.
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// Sent by an agent after its turn was cancelled.
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
    /// The user has set it: no agent replaces it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_user: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanSnapshot {
    /// UUID of the plan; constant within a run.
    pub plan_id: String,
    pub goals: Vec<String>,
    pub state: RunState,
    /// One entry per op, in order of execution.
    pub entries: Vec<PlanEntry>,
}

/// State of a run. [`RunState::Failed`] is shown as "Plan Failed".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// Ops are pending or running.
    Running,
    /// Ended with a summary.
    Complete,
    /// Could not run, or every op failed.
    Failed,
    /// Stopped by the user.
    Cancelled,
}

impl RunState {
    /// Returns the name of this state in all dialects.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Complete => "complete",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanEntry {
    /// Description for the user: `Read README.md:1-50`.
    pub content: String,
    /// Its status. A failed op is `Completed` and has an `error`.
    pub status: EntryStatus,
    /// UUID of the op; also the call id of its tool call.
    pub op_id: String,
    /// xxh32 of the op's canonical JSON.
    pub op_hash: u32,
    pub tool: String,
    /// The error of a failed op, or `not run`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryStatus {
    /// Not started.
    Pending,
    /// Running.
    InProgress,
    /// Ended, successfully or not.
    Completed,
}
