//! Events of both programs in a common form.

use openagents_core::update::{Location, ToolContent, ToolKind};
use serde_json::{Map, Value};

/// An event of a program.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Event {
    /// The program's own id of the session.
    Session(String),
    /// A complete message.
    Message(String),
    /// A complete thought, if the program shows it.
    Thought(String),
    /// A tool call has started.
    Started(Call),
    /// Progress of a tool call, or its end.
    Progressed {
        /// See [`Call::id`].
        id: String,
        /// The new content.
        content: Vec<ToolContent>,
        /// The result; absent while it runs.
        end: Option<Result<Value, String>>,
    },
    /// The turn has completed.
    Done,
    /// The turn has failed, for this reason (a clause).
    Failed(String),
}

/// A tool call.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Call {
    /// Unique in one run of the program.
    pub(super) id: String,
    /// The program's name of the tool.
    pub(super) name: String,
    /// One line.
    pub(super) title: String,
    pub(super) kind: ToolKind,
    pub(super) arguments: Map<String, Value>,
    pub(super) locations: Vec<Location>,
    pub(super) content: Vec<ToolContent>,
}

/// Maximum characters of a title.
const TITLE: usize = 200;
/// Maximum bytes of a text in a tool call, and of each side of a diff.
const TEXT: usize = 64 << 10;
const SIDE: usize = 256 << 10;

/// Joins a text into one line.
pub(super) fn title(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().filter(|letter| !letter.is_control()).take(TITLE).collect()
}

/// Text content, truncated at the end.
pub(super) fn text(text: &str) -> ToolContent {
    ToolContent::Text { text: text[..text.floor_char_boundary(TEXT)].to_owned() }
}

/// Diff content.
pub(super) fn diff(path: &str, old: Option<&str>, new: &str) -> ToolContent {
    let side = |text: &str| text[..text.floor_char_boundary(SIDE)].to_owned();
    ToolContent::Diff {
        path: path.to_owned(),
        old_text: old.map(side),
        new_text: side(new),
        truncated: false,
    }
}

/// Terminal content: a command and the end of its output.
pub(super) fn terminal(id: &str, command: &str, output: &str, exit_code: Option<i32>) -> ToolContent {
    let from = output.ceil_char_boundary(output.len().saturating_sub(TEXT));
    ToolContent::Terminal {
        terminal_id: id.to_owned(),
        command: Some(command.to_owned()),
        output: output[from..].to_owned(),
        truncated: from > 0,
        exit_code,
        signal: None,
    }
}

/// A location without a line.
pub(super) fn location(path: &str) -> Location {
    Location { path: path.to_owned(), line: None }
}
