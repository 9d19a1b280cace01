//! Tool calls and their results, as events.

use crate::history::log::{
    action::{self, Action, Outcome},
    event::{Event, EventKind, TouchedFile},
    json::Node,
    title,
};

/// Arguments that name the file of a call.
const PATHS: [&str; 6] = ["file_path", "filePath", "absolute_path", "path", "notebook_path", "target_file"];

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
            action: action::from_call(name, id, input),
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
            touched(text, &mut paths);
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

/// Returns the texts of a message; a plain text is one block.
/// Content blocks are those of Anthropic's API and of the agents that follow it.
pub(super) fn texts<'a>(content: Option<&'a Node<'a>>) -> Vec<&'a str> {
    let Some(content) = content else { return vec![] };
    let blocks = content.items().iter().filter(|block| block.text("type") == Some("text"));
    content.as_str().into_iter().chain(blocks.filter_map(|block| block.text("text"))).collect()
}

/// Returns what the user typed in a message, given its texts; a placeholder if there are only images.
pub(super) fn prompt<'a>(
    texts: impl IntoIterator<Item = &'a str>,
    content: Option<&Node<'_>>,
) -> Option<String> {
    let is_image = |block: &Node<'_>| block.text("type") == Some("image");
    let only_image = || content.is_some_and(|content| content.items().iter().any(is_image));
    title::prompt(texts).or_else(|| only_image().then(|| title::IMAGE_ONLY.to_owned()))
}

/// Returns the events of an agent's message: its texts, thoughts and calls in order.
pub(super) fn answer(
    tools: &FileTools,
    line: u64,
    at: Option<i64>,
    content: Option<&Node<'_>>,
) -> Vec<Event> {
    let Some(content) = content else { return vec![] };
    let plain = said_blocks(line, at, EventKind::Assistant, content.as_str());
    let blocks = content.items().iter().filter_map(|block| part(tools, line, at, block));
    plain.into_iter().chain(blocks).collect()
}

pub(super) fn part(tools: &FileTools, line: u64, at: Option<i64>, block: &Node<'_>) -> Option<Event> {
    match block.text("type")? {
        "text" => said_blocks(line, at, EventKind::Assistant, block.text("text")),
        "thinking" => said_blocks(line, at, EventKind::Thinking, block.text("thinking")),
        "tool_use" | "toolCall" => {
            let input = block.get("input").or(block.get("arguments"));
            Some(tools.call(line, at, block.text("id"), block.text("name").unwrap_or("tool"), input))
        }
        _ => None,
    }
}

fn said_blocks(line: u64, at: Option<i64>, kind: EventKind, text: Option<&str>) -> Option<Event> {
    let text = text.filter(|text| !text.trim().is_empty())?;
    Some(Event::new(line, at, kind, text))
}

/// Prefixes of paths in an `apply_patch` patch.
const HEADERS: [&str; 4] = ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];

/// Adds the path after every header in `text`: a patch, a shell command with one, or the JavaScript of the tool `exec`,
/// where a line break may be written `\n`.
pub(super) fn touched(text: &str, files: &mut Vec<String>) {
    for (at, _) in text.match_indices("*** ") {
        let header = HEADERS.iter().find(|header| text[at..].starts_with(**header));
        let Some(header) = header else { continue };
        let rest = &text[at + header.len()..];
        let end = ["\n", "\\n", "\"", "'", "`", "\r"].iter().filter_map(|end| rest.find(end)).min();
        let path = rest[..end.unwrap_or(rest.len())].trim();
        if !path.is_empty() && !files.iter().any(|file| file == path) {
            files.push(path.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn touched_finds_paths_in_every_patch() {
        let rows: [(&str, &[&str]); 5] = [
            ("*** Begin Patch\n*** Update File: src/a.rs\n@@\n-x\n+y\n*** End Patch", &["src/a.rs"]),
            (
                "*** Add File: a\n+1\n*** Delete File: b\n*** Update File: c\n*** Move to: d\n",
                &["a", "b", "c", "d"],
            ),
            ("apply_patch <<'EOF'\n*** Update File: /w/a.rs\nEOF", &["/w/a.rs"]),
            (
                r#"await tools.apply_patch("*** Begin Patch\n*** Add File: made.txt\n+hi\n*** End Patch")"#,
                &["made.txt"],
            ),
            ("nothing *** here", &[]),
        ];
        for (text, expected) in rows {
            let mut files = vec![];
            touched(text, &mut files);
            assert_eq!(files, expected, "{text}");
        }
    }
}
