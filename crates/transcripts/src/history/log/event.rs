//! Events of a transcript.

use super::{action::Action, json::unescaped};
use std::borrow::Cow;

/// An event on a line of a transcript.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Line number, from 1.
    pub line: u64,
    /// Milliseconds since the epoch.
    pub timestamp: Option<i64>,
    pub kind: EventKind,
    /// Its text; arguments as JSON for a tool call.
    pub text: String,
    /// Paths as logged, absolute or relative to the session's directory.
    pub files: Vec<TouchedFile>,
    /// The command, its outcome, or the task list; empty for events other than tools.
    pub action: Action,
    /// Caused by a sub-agent.
    pub sidechain: bool,
    /// The line was copied from the session that this one continues.
    pub copied: bool,
    /// The user undid the turn: its agent no longer shows it.
    pub undone: bool,
    /// Hash of the line's id, if it has one; copies in other files share it.
    pub origin: Option<u64>,
}

impl Event {
    /// Returns an event without files and action, of the session itself.
    pub fn new(line: u64, timestamp: Option<i64>, kind: EventKind, text: impl Into<String>) -> Self {
        Self {
            line,
            timestamp,
            kind,
            text: text.into(),
            files: vec![],
            action: Action::default(),
            sidechain: false,
            copied: false,
            undone: false,
            origin: None,
        }
    }
}

/// A file read or changed by a tool.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TouchedFile {
    /// As logged.
    pub path: String,
    /// Changed, not only read.
    pub edited: bool,
}

/// The kind of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventKind {
    /// A prompt by the user, without text added by the agent.
    Prompt,
    /// The agent's answer or a part of it.
    Assistant,
    /// The agent's visible reasoning.
    Thinking,
    ToolCall {
        /// The agent's name of the tool.
        name: String,
    },
    ToolResult,
    /// Changed files; the call is a separate event.
    FileChange,
    /// The end of a command: see [`Event::action`]. Has no text; its call and output are separate events.
    CommandEnd,
    /// The agent replaced the conversation so far with a summary, which is the text.
    Compaction,
    /// A title given by the agent or the user.
    Title(TitleRank),
}

impl Event {
    /// Returns the text without JSON escapes in the arguments of a call.
    pub fn readable_text(&self) -> Cow<'_, str> {
        match self.kind {
            EventKind::ToolCall { .. } => unescaped(&self.text),
            _ => Cow::Borrowed(&self.text),
        }
    }
}

impl EventKind {
    /// Returns whether a word index includes it: prompts, answers and the arguments of calls.
    pub fn is_indexed(&self) -> bool {
        matches!(self, Self::Prompt | Self::Assistant | Self::ToolCall { .. })
    }

    /// Returns whether it is part of the conversation, unlike titles, compactions and ends of commands.
    pub fn is_conversation(&self) -> bool {
        !matches!(self, Self::Title(_) | Self::CommandEnd | Self::Compaction)
    }

    /// Returns the name of this kind in results of `session.read`.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Prompt => "user",
            Self::Assistant => "assistant",
            Self::Thinking => "thinking",
            Self::ToolCall { .. } => "tool_use",
            Self::ToolResult => "tool_result",
            Self::FileChange => "file_change",
            Self::CommandEnd => "command_end",
            Self::Compaction => "compaction",
            Self::Title(_) => "title",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TitleRank {
    Summary,
    Model,
    User,
}
