//! Decodes a part of an agent's message. In 2.x, a few fields have other names.

use super::super::calls::{self, FileTools};
use crate::history::{
    action::{self, Outcome},
    event::{Event, EventKind},
    json::Node,
    log_file::millis,
};
use openagents_core::text::joined;

const TOOLS: FileTools = FileTools { reads: &["read"], edits: &["write", "edit", "apply_patch"] };

pub(super) fn events(part: &Node<'_>, number: u64, at: Option<i64>) -> Vec<Event> {
    let time = |node: &Node<'_>| millis(node.get("time")?.get("start"));
    match part.text("type") {
        Some("text") if !part.flag("ignored") => said(part, number, time(part).or(at), EventKind::Assistant),
        Some("reasoning") => said(part, number, time(part).or(at), EventKind::Thinking),
        Some("tool") => part.get("state").map_or_else(Vec::new, |state| {
            let name = part.text("tool").or(part.text("name")).unwrap_or("tool");
            let id = part.text("callID").or(part.text("id"));
            tool(name, id, state, number, time(state).or(at))
        }),
        _ => vec![],
    }
}

/// Decodes a command that the user ran, as 2.x stores it.
pub(super) fn typed_command(data: &Node<'_>, number: u64, at: Option<i64>) -> Vec<Event> {
    let id = data.text("callID");
    let outcome = action::code(data, "exit").map(Outcome::Exit);
    let output = data.text("output").unwrap_or_default().to_owned();
    let call = TOOLS.call(number, at, id, "shell", data.get("command"));
    vec![call, calls::ended(number, at, id, output, outcome)]
}

fn said(part: &Node<'_>, number: u64, at: Option<i64>, kind: EventKind) -> Vec<Event> {
    let text = part.text("text").filter(|text| !text.trim().is_empty());
    text.into_iter().map(|text| Event::new(number, at, kind.clone(), text)).collect()
}

fn tool(name: &str, id: Option<&str>, state: &Node<'_>, number: u64, at: Option<i64>) -> Vec<Event> {
    let mut call = TOOLS.call(number, at, id, name, state.get("input"));
    let end = state.get("time").and_then(|time| millis(time.get("end"))).or(at);
    let result = match state.text("status") {
        Some("completed") => {
            let exit = state.get("metadata").and_then(|metadata| action::code(metadata, "exit"));
            let outcome = match name {
                // A malformed call.
                "invalid" => Some(Outcome::NotRun),
                "bash" | "shell" => exit.map(Outcome::Exit),
                _ => Some(Outcome::Exit(0)),
            };
            calls::ended(number, end, id, output(state), outcome)
        }
        Some("error") => {
            let error = state
                .get("error")
                .map(|error| error.text("message").map_or_else(|| error.flattened(), str::to_owned));
            calls::result(number, end, id, error.unwrap_or_default(), Some(false))
        }
        // `running` may stay forever.
        _ => {
            call.files.clear();
            return vec![call];
        }
    };
    vec![call, result]
}

fn output(state: &Node<'_>) -> String {
    let content = state.get("content").map_or(&[][..], Node::items).iter();
    joined(state.text("output").into_iter().chain(content.filter_map(|item| item.text("text"))))
}
