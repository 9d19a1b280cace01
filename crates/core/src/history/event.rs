//! What happened in a transcript, one thing at a time.

use super::Action;

/// Something that a line of a transcript says.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// The line that says so, from 1.
    pub line: u64,
    /// Milliseconds since the epoch.
    pub timestamp: Option<i64>,
    /// What it is.
    pub kind: EventKind,
    /// Its words; arguments as JSON for a tool call.
    pub text: String,
    /// Paths as recorded, absolute or relative to the session's directory.
    pub files: Vec<TouchedFile>,
    /// The command, its end, or the task list; empty for anything but tools.
    pub action: Action,
    /// A sub-agent did it.
    pub sidechain: bool,
    /// The line was copied from the session that this one continues.
    pub copied: bool,
    /// Hash of the line's own id, where lines have ids: copies in other files share it.
    pub origin: Option<u64>,
}

/// A file that a tool looked at or changed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TouchedFile {
    /// As recorded.
    pub path: String,
    /// It was changed, not only read.
    pub edited: bool,
}

/// The kind of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventKind {
    /// A person's prompt, without what the agent added to it.
    Prompt,
    /// The agent's answer, or a part of it.
    Assistant,
    /// The agent's visible reasoning.
    Thinking,
    /// A tool was called.
    ToolCall {
        /// Its name, as the agent knows it.
        name: String,
    },
    /// What a tool gave back.
    ToolResult,
    /// Files changed; the call that did it is another event.
    FileChange,
    /// A command ended: see [`Event::action`]. It has no text; its call and its output are other events.
    CommandEnd,
    /// A title that the agent or a person gave the session.
    Title(TitleRank),
}

impl EventKind {
    /// Returns whether it is part of the conversation. Titles and ends of commands are notes beside it.
    pub fn is_conversation(&self) -> bool {
        !matches!(self, Self::Title(_) | Self::CommandEnd)
    }

    /// Returns the word for this kind in results of `session.read`.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Prompt => "user",
            Self::Assistant => "assistant",
            Self::Thinking => "thinking",
            Self::ToolCall { .. } => "tool_use",
            Self::ToolResult => "tool_result",
            Self::FileChange => "file_change",
            Self::CommandEnd => "command_end",
            Self::Title(_) => "title",
        }
    }
}

/// Which of several titles wins: the greatest, then the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TitleRank {
    /// A summary of the conversation.
    Summary,
    /// Made by a model.
    Model,
    /// Typed by a person.
    Person,
}

/// Whether a line could be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decoded {
    /// It is a line of a log, of a known type or not.
    Good,
    /// It is not.
    Bad,
}
