//! The JSON form: `{"format": 1, "session": {…}, "events": [{"line", "type", "time", "text", "tool", "input"}]}`.

use super::{
    MARKDOWN_BYTES, ToolOutput,
    document::{Document, EntryKind},
    keep_newest, shortened,
};
use openagents_core::update::ToolContent;
use serde_json::{Map, Value, json};

pub(super) fn write(document: &Document, tools: ToolOutput) -> (String, usize) {
    let head = &document.head;
    let session = json!({
        "title": head.title, "agent": head.agent, "model": head.model, "branch": head.branch,
        "createdAt": head.created_at, "updatedAt": head.updated_at, "unreadLines": document.unread,
    });
    let event = |entry: &super::Entry| {
        let mut event = Map::new();
        let mut set = |key: &str, value: Value| drop(event.insert(key.to_owned(), value));
        set("line", entry.line.into());
        set("time", entry.at.into());
        let (kind, text) = match &entry.kind {
            EntryKind::Prompt(text) => ("user", text.clone()),
            EntryKind::Answer(text) => ("assistant", text.clone()),
            EntryKind::Thought(text) => ("thinking", text.clone()),
            EntryKind::Call(call) => {
                set("tool", json!({"name": call.name, "title": call.title, "input": call.input}));
                if let Some(error) = &call.error {
                    set("error", error.as_str().into());
                }
                let output = call.content.iter().find_map(|content| match content {
                    ToolContent::Terminal { output, .. } => Some(output),
                    ToolContent::Text { .. } | ToolContent::Diff { .. } => None,
                });
                ("tool", shortened(output.unwrap_or(&call.output), tools).unwrap_or_default())
            }
        };
        set("type", kind.into());
        set("text", text.into());
        Value::Object(event).to_string()
    };
    let mut events: Vec<String> = document.entries.iter().map(event).collect();
    let omitted = keep_newest(&mut events, MARKDOWN_BYTES);
    let text = format!(
        "{{\"format\": 1, \"session\": {session}, \"omitted\": {omitted}, \"events\": [\n{}\n]}}\n",
        events.join(",\n")
    );
    (text, omitted)
}
