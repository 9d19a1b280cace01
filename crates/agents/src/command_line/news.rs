//! What both programs say, each in its own words.

use openagents_core::update::{Location, ToolContent, ToolKind};
use serde_json::{Map, Value};

/// One thing that a program says.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum News {
    /// Its own id of the session.
    Session(String),
    /// A whole message.
    Said(String),
    /// A whole thought that it publishes.
    Thought(String),
    /// A tool runs.
    Began(Call),
    /// News of a tool that runs, or its end.
    Went {
        /// See [`Call::id`].
        id: String,
        /// What it shows from now on.
        content: Vec<ToolContent>,
        /// How it ended; absent while it runs.
        end: Option<Result<Value, String>>,
    },
    /// The turn ended well.
    Done,
    /// The turn failed: a clause.
    Failed(String),
}

/// A tool that runs.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Call {
    /// Unique in one run of the program.
    pub(super) id: String,
    /// As the program calls it.
    pub(super) name: String,
    /// One line.
    pub(super) title: String,
    pub(super) kind: ToolKind,
    pub(super) arguments: Map<String, Value>,
    pub(super) locations: Vec<Location>,
    pub(super) content: Vec<ToolContent>,
}

/// Letters of a title.
const TITLE: usize = 200;
/// Bytes of a text in a tool call, and of each side of a diff.
const TEXT: usize = 64 << 10;
const SIDE: usize = 256 << 10;

/// Makes one line of a text.
pub(super) fn title(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().filter(|letter| !letter.is_control()).take(TITLE).collect()
}

/// Shows a text, cut to its beginning.
pub(super) fn text(text: &str) -> ToolContent {
    ToolContent::Text { text: text[..text.floor_char_boundary(TEXT)].to_owned() }
}

/// Shows a change.
pub(super) fn diff(path: &str, old: Option<&str>, new: &str) -> ToolContent {
    let side = |text: &str| text[..text.floor_char_boundary(SIDE)].to_owned();
    ToolContent::Diff {
        path: path.to_owned(),
        old_text: old.map(side),
        new_text: side(new),
        truncated: false,
    }
}

/// Shows a command and the end of what it printed.
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

/// Names a file.
pub(super) fn location(path: &str) -> Location {
    Location { path: path.to_owned(), line: None }
}
