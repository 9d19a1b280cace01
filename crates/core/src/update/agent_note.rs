//! What an agent shows beside its answer.

use serde::{Deserialize, Serialize};

/// A notice, a compaction or a plan; replaces an earlier one with the same id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentNote {
    /// Ours: agents repeat theirs.
    pub id: String,
    #[serde(flatten)]
    pub content: NoteContent,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum NoteContent {
    /// Something the user should know, and need not answer.
    Notice {
        severity: Severity,
        /// One line.
        title: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
        /// How often the agent has sent it.
        count: u32,
    },
    /// The agent replaced the beginning of the conversation by a summary, to make room.
    Compaction {
        state: CompactionState,
        /// Markdown: what the agent still knows.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// A plan as text.
    Plan {
        /// Markdown.
        text: String,
        /// The file that it is in.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<String>,
        /// The agent has withdrawn it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        removed: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Info,
    Warning,
    Error,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompactionState {
    Running,
    Completed,
    Failed,
    Cancelled,
}
