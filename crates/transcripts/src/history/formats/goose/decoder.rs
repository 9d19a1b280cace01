//! Decodes one record.

use super::super::{
    blocks,
    calls::{self, FileTools},
};
use crate::history::{
    decoder::{Decoder, SessionFacts},
    event::{Event, EventKind, TitleRank},
    json::Node,
    log_file::millis,
    title,
};
use openagents_core::text::joined;
use std::path::PathBuf;

/// One tool both reads and edits; its argument `command` says which.
const EDITOR: &str = "developer__text_editor";
const READS: FileTools = FileTools { reads: &[EDITOR], edits: &[] };
const EDITS: FileTools = FileTools { reads: &[], edits: &[EDITOR] };
const EDITING: [&str; 3] = ["write", "str_replace", "insert"];

/// Names that Goose assigns before it has read a prompt.
const DEFAULT_NAMES: [&str; 3] = ["CLI Session", "New Chat", "New Session"];

#[derive(Default)]
pub(super) struct GooseDecoder {
    facts: SessionFacts,
}

impl GooseDecoder {
    /// Reads the record about the session itself.
    fn about(&mut self, about: &Node<'_>, number: u64) -> Vec<Event> {
        self.facts = SessionFacts {
            cwd: about.text("directory").filter(|directory| !directory.is_empty()).map(PathBuf::from),
            model: about.text("model").map(str::to_owned),
            created_at: millis(about.get("created")),
            total_tokens: about.count("tokens"),
            hidden: about.flag("hidden"),
            archived: about.flag("archived"),
            ..SessionFacts::default()
        };
        let rank = if about.flag("is_given") { TitleRank::Person } else { TitleRank::Model };
        let name = about.text("name").filter(|name| !DEFAULT_NAMES.contains(&name.trim()));
        let title = title::given(name);
        title.into_iter().map(|title| Event::new(number, None, EventKind::Title(rank), title)).collect()
    }
}

impl Decoder for GooseDecoder {
    fn record(&mut self, node: &Node<'_>, number: u64) -> Option<Vec<Event>> {
        if let Some(about) = node.get("about") {
            return Some(self.about(about, number));
        }
        let (at, content) = (millis(node.get("at")), node.get("content")?);
        let mut events: Vec<_> =
            content.items().iter().filter_map(|block| event(block, number, at)).collect();
        let is_prompt = node.text("role") == Some("user") && node.flag("visible");
        if node.text("role") == Some("user") {
            // Results come in the user's messages.
            events.retain(|event| event.kind == EventKind::ToolResult);
        }
        if is_prompt && events.is_empty() {
            let prompt = blocks::prompt(blocks::texts(Some(content)), Some(content));
            events.extend(prompt.map(|text| Event::new(number, at, EventKind::Prompt, text)));
        }
        Some(events)
    }

    fn facts(&self) -> SessionFacts {
        self.facts.clone()
    }
}

fn event(block: &Node<'_>, number: u64, at: Option<i64>) -> Option<Event> {
    match block.text("type")? {
        "toolRequest" | "frontendToolRequest" => Some(call(block, number, at)),
        "toolResponse" => Some(result(block, number, at)),
        _ => blocks::part(&READS, number, at, block),
    }
}

fn call(block: &Node<'_>, number: u64, at: Option<i64>) -> Event {
    // A malformed call has no value.
    let value = block.get("toolCall").and_then(|call| call.get("value"));
    let input = value.and_then(|value| value.get("arguments"));
    let name = value.and_then(|value| value.text("name")).unwrap_or("tool");
    let tools = match input.and_then(|input| input.text("command")) {
        Some(command) if EDITING.contains(&command) => EDITS,
        Some("view") => READS,
        _ => FileTools { reads: &[], edits: &[] },
    };
    tools.call(number, at, block.text("id"), name, input)
}

/// Returns the event of a result. A failed command is a success of the tool, so the result does not say how it ended.
fn result(block: &Node<'_>, number: u64, at: Option<i64>) -> Event {
    let (id, result) = (block.text("id"), block.get("toolResult"));
    let value = result.and_then(|result| result.get("value"));
    let content = value.map(|value| value.get("content").unwrap_or(value).items()).unwrap_or_default();
    let error = result.and_then(|result| result.text("error"));
    let text = joined(content.iter().filter_map(|item| item.text("text")).chain(error));
    let failed = result.and_then(|result| result.text("status")) == Some("error")
        || value.is_some_and(|value| value.flag("isError"));
    calls::result(number, at, id, text, failed.then_some(false))
}
