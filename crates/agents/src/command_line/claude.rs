//! Output of `claude -p --output-format stream-json` (Claude Code 2.1.330).

use super::recorder::{Event, location};
use crate::output::{CallNews, CallStatus, Shown, diff, one_line, terminal, text};
use openagents_core::{
    json_text,
    update::{ToolCallDetails, ToolKind},
};
use serde_json::{Map, Value};

/// The prompt is sent on standard input.
pub(super) fn arguments(resume: Option<&str>) -> Vec<&str> {
    let mut arguments = vec!["-p", "--output-format", "stream-json", "--verbose"];
    arguments.extend(resume.into_iter().flat_map(|session| ["--resume", session]));
    arguments
}

pub(super) fn parse_line(line: &[u8]) -> Vec<Event> {
    let Ok(event) = json_text::from_slice::<Value>(line) else { return Vec::new() };
    let parts = || event["message"]["content"].as_array().into_iter().flatten();
    match event["type"].as_str() {
        Some("system") if event["subtype"] == "init" => {
            event["session_id"].as_str().map(|id| Event::Session(id.to_owned())).into_iter().collect()
        }
        Some("assistant") => parts().filter_map(assistant_part).collect(),
        Some("user") => parts().filter_map(tool_result).collect(),
        Some("result") => vec![turn_end(&event)],
        _ => Vec::new(),
    }
}

fn turn_end(event: &Value) -> Event {
    if event["is_error"] != true && event["subtype"].as_str().is_none_or(|subtype| subtype == "success") {
        return Event::Done;
    }
    let why = event["result"].as_str().or_else(|| event["errors"][0].as_str());
    let why = why.or_else(|| event["subtype"].as_str()).filter(|why| !why.is_empty());
    Event::Failed(one_line(why.unwrap_or_default()).unwrap_or_else(|| "it did not say why".to_owned()))
}

fn assistant_part(part: &Value) -> Option<Event> {
    match part["type"].as_str()? {
        "text" => Some(Event::Message(part["text"].as_str()?.to_owned())),
        "thinking" => Some(Event::Thought(part["thinking"].as_str()?.to_owned())),
        "tool_use" => {
            let (id, name) = (part["id"].as_str()?, part["name"].as_str()?);
            let arguments = part["input"].as_object().cloned().unwrap_or_default();
            Some(Event::Call(tool_call(id, name, arguments)))
        }
        _ => None,
    }
}

fn tool_call(id: &str, name: &str, arguments: Map<String, Value>) -> CallNews {
    let argument = |key: &str| arguments.get(key).and_then(Value::as_str);
    let path = argument("file_path").or_else(|| argument("notebook_path")).or_else(|| argument("path"));
    let kind = match name {
        "Read" => ToolKind::Read,
        "Edit" | "Write" | "MultiEdit" | "NotebookEdit" => ToolKind::Edit,
        "Bash" => ToolKind::Execute,
        "Grep" | "Glob" | "LS" => ToolKind::Search,
        "WebFetch" | "WebSearch" => ToolKind::Fetch,
        _ => ToolKind::Other,
    };
    let about =
        argument("command").or(path).or_else(|| argument("pattern")).or_else(|| argument("description"));
    let line = if name == "Bash" {
        about.unwrap_or(name).to_owned()
    } else {
        format!("{name} {}", about.unwrap_or_default())
    };
    let content = match (name, path) {
        ("Write", Some(path)) => argument("content").map(|new| diff(path.to_owned(), None, new.to_owned())),
        ("Edit", Some(path)) => argument("new_string")
            .map(|new| diff(path.to_owned(), argument("old_string").map(str::to_owned), new.to_owned())),
        ("Bash", _) => argument("command").map(|command| terminal(id, command, "", None)),
        _ => None,
    };
    CallNews {
        id: id.to_owned(),
        name: Some(name.to_owned()),
        status: Some(CallStatus::Running),
        details: ToolCallDetails {
            title: one_line(&line),
            kind: Some(kind),
            locations: path.map(location).into_iter().collect(),
            raw_input: Some(Value::Object(arguments)),
            content: Vec::new(),
        },
        shown: content.map(|content| vec![Shown::Fixed(content)]),
        ..CallNews::default()
    }
}

fn tool_result(part: &Value) -> Option<Event> {
    if part["type"] != "tool_result" {
        return None;
    }
    let id = part["tool_use_id"].as_str()?.to_owned();
    let reply = match &part["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts: Vec<_> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
            texts.join("\n")
        }
        _ => String::new(),
    };
    let failed = part["is_error"] == true;
    Some(Event::Call(CallNews {
        id,
        status: Some(if failed { CallStatus::Failed } else { CallStatus::Completed }),
        raw_output: failed.then(|| reply.clone().into()),
        shown: (!reply.is_empty()).then(|| vec![Shown::Fixed(text(&reply))]),
        ..CallNews::default()
    }))
}
