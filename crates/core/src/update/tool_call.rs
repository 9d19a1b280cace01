//! Tool calls, their state and their content.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Globally unique; the op id if the call belongs to a plan.
    pub call_id: String,
    /// Name of the tool: `search.grep`.
    pub name: String,
    /// The arguments, always an object.
    pub arguments: Map<String, Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub op_hash: Option<u32>,
    /// Stage of a run that the call represents: `summary` on `fm.analysis`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<String>,
    /// Additional content; external agents send more than our tools.
    #[serde(default, skip_serializing_if = "ToolCallDetails::is_empty")]
    pub details: ToolCallDetails,
}

/// Content of a tool call. In an update, absent or empty fields stay unchanged and others are replaced.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolCallDetails {
    /// One line for the user: `Edit src/main.rs`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Kind of work, if the name does not imply it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<ToolKind>,
    /// The arguments, if they became known later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_input: Option<Value>,
    /// The files that it concerns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locations: Vec<Location>,
    /// Shown content, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub content: Vec<ToolContent>,
}

impl ToolCallDetails {
    /// Returns whether it has no content.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The Agent Client Protocol's kinds of tool calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolKind {
    Read,
    Edit,
    Delete,
    Move,
    Search,
    Execute,
    Think,
    Fetch,
    SwitchMode,
    Other,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    /// As named by the agent, usually absolute.
    pub path: String,
    /// From 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToolContent {
    /// Markdown as written by the agent, truncated to 64 KiB.
    Text { text: String },
    /// A change of a file.
    Diff {
        /// As named by the agent, usually absolute.
        path: String,
        /// `None` for a new file. In texts over 256 KiB, the common lines at both ends are dropped first.
        old_text: Option<String>,
        /// The file after the change, or the changed part, up to 256 KiB.
        new_text: String,
        /// Part of the change is left out.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        truncated: bool,
    },
    /// A command and its output so far.
    Terminal {
        /// Unique within the agent's session.
        terminal_id: String,
        /// The command line, for the user.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        command: Option<String>,
        /// The end of the output, 64 KiB at most.
        output: String,
        /// The beginning of the output was dropped.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        truncated: bool,
        /// `None` while it runs, and if a signal ended it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
        /// Signal that ended it: `SIGKILL`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signal: Option<String>,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCallUpdate {
    pub call_id: String,
    pub status: ToolCallStatus,
    /// The turn of the call was already cancelled.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub late: bool,
    #[serde(default, skip_serializing_if = "ToolCallDetails::is_empty")]
    pub details: ToolCallDetails,
}

impl ToolCallUpdate {
    /// Returns a new status without new content.
    pub fn new(call_id: &str, status: ToolCallStatus) -> Self {
        Self { call_id: call_id.to_owned(), status, late: false, details: ToolCallDetails::default() }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum ToolCallStatus {
    /// Only the content changed.
    Unchanged,
    /// Running.
    Started {
        /// 0.0 to 1.0.
        progress: f64,
        /// `processed 3/10`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// Succeeded.
    Completed {
        /// The complete result, which dialects may shorten for a client. `null` if the content is the whole result.
        output: Value,
        /// The bounds that cut the result.
        #[serde(default)]
        cut: Cut,
    },
    /// Failed, with one sentence that names the operand.
    Error { message: String },
}

/// Bounds that cut a result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cut {
    /// A limit on results or bytes was reached.
    pub truncated: bool,
    /// The deadline was reached.
    pub timed_out: bool,
    /// Number of skipped items (unreadable files, bad lines), if the tool counts them.
    pub omitted: u64,
}
