//! What happens in a session, one update at a time.
//!
//! A session is a numbered log of [`SessionUpdate`]s. The serde form is the one that the event store keeps on disk:
//! fields may be added with `#[serde(default)]`, never renamed.

use crate::model::Usage;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

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
}

/// See [`SessionUpdate::UserMessage`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct UserMessage {
    /// Plain text as the person typed it.
    pub text: String,
    /// The connection that sent the prompt, so that it can recognise its own echo.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection: Option<String>,
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
    /// Set on the last chunk of a model's answer, whose text may be empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Set on the last message of a turn: nothing more of that turn comes after it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ended: bool,
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
}

/// How a tool call is doing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum ToolCallStatus {
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
        /// The whole result; dialects prune it on its way to a client.
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

/// What an exploration found out, with the evidence for it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Name of the workspace.
    pub repository: String,
    /// One sentence; absent when nothing could be said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<String>,
    /// Where the sentence comes from.
    pub source: IntentSource,
    /// Up to five sessions, newest first.
    #[serde(default)]
    pub recent_work: Vec<RecentWork>,
    /// Up to five paths relative to the workspace, most touched first.
    #[serde(default)]
    pub top_files: Vec<String>,
    /// Up to three prompts that a person may want to send next.
    #[serde(default)]
    pub followups: Vec<String>,
    /// What the sentence rests on.
    #[serde(default)]
    pub evidence: Vec<Evidence>,
}

/// Where an intent sentence comes from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IntentSource {
    /// Past sessions of this workspace.
    SessionAnalyze,
    /// Apple's Foundation Models.
    Fm,
    /// gpt-oss.
    Gptoss,
    /// What the repository says about itself.
    Readme,
    /// Nothing could be said.
    #[default]
    None,
}

impl IntentSource {
    /// Returns the word that goes into `fm.analysis` results: `session.analyze`, `fm`, `gptoss`, `readme`, `none`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SessionAnalyze => "session.analyze",
            Self::Fm => "fm",
            Self::Gptoss => "gptoss",
            Self::Readme => "readme",
            Self::None => "none",
        }
    }

    /// Returns the Markdown heading of the final message.
    pub fn heading(self) -> Option<&'static str> {
        match self {
            Self::SessionAnalyze => Some("**Intent From Session History:**"),
            Self::Fm => Some("**Inferred Intent (FM):**"),
            Self::Gptoss => Some("**Inferred Intent (GPTOSS):**"),
            Self::Readme => Some("**Inferred Intent (README):**"),
            Self::None => None,
        }
    }
}

/// A past session that counts as recent work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecentWork {
    /// Title of the session.
    pub title: String,
    /// `codex`, `claude-code`.
    pub provider: String,
    /// Id of the session in its own agent.
    pub session_id: String,
    /// Last change, in milliseconds since the epoch.
    pub updated_at: i64,
}

/// A place that a claim rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Evidence {
    /// A line of a file in the workspace.
    File {
        /// Relative to the workspace.
        path: String,
        /// From 1.
        line: u64,
        /// The line, shortened.
        text: String,
    },
    /// A line of a past session.
    Session {
        /// `codex`, `claude-code`.
        provider: String,
        /// Id of the session in its own agent.
        session_id: String,
        /// From 1; 0 when the claim rests on the session's title.
        line: u64,
        /// The line, shortened.
        text: String,
    },
}
