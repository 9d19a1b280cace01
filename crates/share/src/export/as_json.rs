//! The JSON form: `{"format": 1, "session": {…}, "events": [{"line", "type", "time", "text", "tool", "input"}]}`.

use super::{
    document::{Call, Document, Entry, EntryKind},
    options::ToolOutput,
    parts::{MARKDOWN_BYTES, newest_within, shortened},
};
use openagents_core::update::ToolContent;
use serde_json::{Map, Value, json};

pub(super) fn write(document: &Document, tools: ToolOutput) -> (String, usize) {
    let head = &document.head;
    let session = json!({
        "title": head.title, "agent": head.agent, "model": head.model, "branch": head.branch,
        "createdAt": head.created_at, "updatedAt": head.updated_at, "unreadLines": document.unread,
    });
    let (events, omitted) = newest_within(&document.entries, MARKDOWN_BYTES, |entry| event(entry, tools));
    let text = format!(
        "{{\"format\": 1, \"session\": {session}, \"omitted\": {omitted}, \"events\": [\n{}\n]}}\n",
        events.join(",\n")
    );
    (text, omitted)
}

fn event(entry: &Entry, tools: ToolOutput) -> String {
    let mut event = Map::new();
    let mut set = |key: &str, value: Value| drop(event.insert(key.to_owned(), value));
    set("line", entry.line.into());
    set("time", entry.at.into());
    let (kind, text) = match &entry.kind {
        EntryKind::Prompt(text) => ("user", text.clone()),
        EntryKind::Answer(text) => ("assistant", text.clone()),
        EntryKind::Thought(text) => ("thinking", shortened(text, tools).unwrap_or_default()),
        EntryKind::Call(call) => {
            let input = (tools != ToolOutput::None).then_some(&call.input);
            set("tool", json!({"name": call.name, "title": call.title, "input": input}));
            if let Some(error) = call.error.as_ref().and_then(|error| shortened(error, tools)) {
                set("error", error.into());
            }
            ("tool", shortened(&output(call), tools).unwrap_or_default())
        }
    };
    set("type", kind.into());
    set("text", text.into());
    Value::Object(event).to_string()
}

/// Returns the output of a call: that of its terminal, its result, or what it showed.
fn output(call: &Call) -> String {
    let terminal = call.content.iter().find_map(|content| match content {
        ToolContent::Terminal { output, .. } => Some(output.clone()),
        ToolContent::Text { .. } | ToolContent::Diff { .. } => None,
    });
    let shown = || {
        let texts = call.content.iter().filter_map(|content| match content {
            ToolContent::Text { text } => Some(text.as_str()),
            ToolContent::Terminal { .. } | ToolContent::Diff { .. } => None,
        });
        openagents_core::text::joined(texts)
    };
    terminal.or_else(|| Some(call.output.clone()).filter(|output| !output.is_empty())).unwrap_or_else(shown)
}
