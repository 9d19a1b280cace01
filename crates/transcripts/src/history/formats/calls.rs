//! Tool calls and their results, as events.

use super::patch;
use crate::history::{
    action::{self, Action, Outcome},
    event::{Event, EventKind, TouchedFile},
    json::Node,
};

/// Arguments that name the file of a call.
const PATHS: [&str; 6] = ["file_path", "filePath", "absolute_path", "path", "notebook_path", "target_file"];

/// The tools of an agent that name a file.
pub(super) struct FileTools {
    pub(super) reads: &'static [&'static str],
    pub(super) edits: &'static [&'static str],
}

impl FileTools {
    /// Returns the event of a call. A file that it names counts as touched until a result reports a failure.
    pub(super) fn call(
        &self,
        line: u64,
        at: Option<i64>,
        id: Option<&str>,
        name: &str,
        input: Option<&Node<'_>>,
    ) -> Event {
        let text = input.map(Node::flattened).unwrap_or_default();
        Event {
            files: self.touched(name, input, &text),
            action: action::of_call(name, id, input),
            ..Event::new(line, at, EventKind::ToolCall { name: name.to_owned() }, text)
        }
    }

    fn touched(&self, name: &str, input: Option<&Node<'_>>, text: &str) -> Vec<TouchedFile> {
        let edited = self.edits.contains(&name);
        if !edited && !self.reads.contains(&name) {
            return vec![];
        }
        let path = PATHS.iter().find_map(|key| input?.text(key)).filter(|path| !path.is_empty());
        let mut paths: Vec<String> = path.map(str::to_owned).into_iter().collect();
        if paths.is_empty() && edited {
            patch::touched(text, &mut paths);
        }
        paths.into_iter().map(|path| TouchedFile { path, edited }).collect()
    }
}

/// Returns the event of a result; `succeeded` is absent if the log does not say.
pub(super) fn result(
    line: u64,
    at: Option<i64>,
    id: Option<&str>,
    text: String,
    succeeded: Option<bool>,
) -> Event {
    let outcome = match succeeded {
        Some(true) => Some(Outcome::Exit(0)),
        Some(false) => Some(action::exit_code(&text).map_or(Outcome::NotRun, Outcome::Exit)),
        None => None,
    };
    ended(line, at, id, text, outcome)
}

/// Returns the event of a result whose outcome is logged separately from its text.
pub(super) fn ended(
    line: u64,
    at: Option<i64>,
    id: Option<&str>,
    text: String,
    outcome: Option<Outcome>,
) -> Event {
    let action = Action { call: id.map(str::to_owned), outcome, ..Action::default() };
    Event { action, ..Event::new(line, at, EventKind::ToolResult, text) }
}
