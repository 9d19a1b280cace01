//! Tool calls: what is about to run, how it is doing, and what it shows.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A tool is about to run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Unique for ever; the op id when the call comes from a plan.
    pub call_id: String,
    /// Name of the tool: `search.grep`.
    pub name: String,
    /// The arguments, always an object.
    pub arguments: Map<String, Value>,
    /// Hash of the op behind the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub op_hash: Option<u32>,
    /// The stage of a run that the call stands for: `summary` on `fm.analysis`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<String>,
    /// What the call shows beside its name and arguments; agents of others say more than our tools.
    #[serde(default, skip_serializing_if = "ToolCallDetails::is_empty")]
    pub details: ToolCallDetails,
}

/// What a tool call shows. In an update, what is absent or empty stays as it was; what is there replaces it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolCallDetails {
    /// One line for people: `Edit src/main.rs`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What sort of work it is, where the name alone does not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<ToolKind>,
    /// The arguments as they became known later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_input: Option<Value>,
    /// The files that it is about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locations: Vec<Location>,
    /// What it shows, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub content: Vec<ToolContent>,
}

impl ToolCallDetails {
    /// Returns whether there is nothing to show.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The Agent Client Protocol's kinds of tool calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolKind {
    /// Reads files or data.
    Read,
    /// Changes files.
    Edit,
    /// Removes files.
    Delete,
    /// Moves or renames files.
    Move,
    /// Looks for something.
    Search,
    /// Runs a command.
    Execute,
    /// Thinks.
    Think,
    /// Gets something from elsewhere.
    Fetch,
    /// Changes the mode of the agent.
    SwitchMode,
    /// Anything else.
    Other,
}

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    /// As the agent names it, mostly absolute.
    pub path: String,
    /// From 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

/// One piece of what a tool call shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToolContent {
    /// Markdown.
    Text {
        /// As the agent wrote it, cut to 64 KiB.
        text: String,
    },
    /// A change of a file.
    Diff {
        /// As the agent names it, mostly absolute.
        path: String,
        /// `None` for a new file. Both texts are cut to 256 KiB.
        old_text: Option<String>,
        /// The file as it is, or would be, afterwards; or the part of it that changed.
        new_text: String,
        /// A text was cut: what is shown is not all of it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        truncated: bool,
    },
    /// A command and what it printed so far.
    Terminal {
        /// Unique within the agent's session.
        terminal_id: String,
        /// The command line, for people.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        command: Option<String>,
        /// The end of the output, 64 KiB at most.
        output: String,
        /// The beginning of the output was dropped.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        truncated: bool,
        /// `None` while it runs, and when a signal ended it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
        /// The signal that ended it: `SIGKILL`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signal: Option<String>,
    },
}

/// News of a tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCallUpdate {
    /// The call that this is about.
    pub call_id: String,
    /// What happened.
    pub status: ToolCallStatus,
    /// The turn that made the call had been cancelled already.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub late: bool,
    /// What it shows from now on.
    #[serde(default, skip_serializing_if = "ToolCallDetails::is_empty")]
    pub details: ToolCallDetails,
}

/// How a tool call is doing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum ToolCallStatus {
    /// As before; only what it shows has changed.
    Unchanged,
    /// It runs.
    Started {
        /// 0.0 to 1.0.
        progress: f64,
        /// `processed 3/10`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// It ended well.
    Completed {
        /// The whole result; dialects prune it on its way to a client. `null` when what it shows is all there is.
        output: Value,
        /// What was cut, if anything.
        #[serde(default)]
        cut: Cut,
    },
    /// It ended badly.
    Error {
        /// One sentence that names the operand.
        message: String,
    },
}

/// Says which bound cut a result short.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cut {
    /// A cap on results or bytes was reached.
    #[serde(default)]
    pub truncated: bool,
    /// The deadline came first.
    #[serde(default)]
    pub timed_out: bool,
    /// How many things were passed over (unreadable files, bad lines), where the tool counts them.
    #[serde(default)]
    pub omitted: u64,
}
