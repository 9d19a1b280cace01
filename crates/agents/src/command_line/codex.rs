//! Output of `codex exec --json` (codex 0.169).

use super::recorder::{Event, location};
use crate::output::{CallNews, CallStatus, Shown, one_line, terminal, text};
use openagents_core::{
    json_text,
    update::{Location, ToolCallDetails, ToolContent, ToolKind},
};
use serde_json::Value;

/// The prompt is sent on standard input. The Git repository check is skipped, since the user chose the folder.
pub(super) fn arguments(resume: Option<&str>) -> Vec<&str> {
    match resume {
        Some(session) => vec!["exec", "resume", "--json", "--skip-git-repo-check", session, "-"],
        None => vec!["exec", "--json", "--skip-git-repo-check", "-"],
    }
}

pub(super) fn parse_line(line: &[u8]) -> Vec<Event> {
    let Ok(event) = json_text::from_slice::<Value>(line) else { return Vec::new() };
    let reason = |value: &Value| value.as_str().unwrap_or("it did not say why").to_owned();
    let item = &event["item"];
    let read = match event["type"].as_str() {
        Some("thread.started") => event["thread_id"].as_str().map(|id| Event::Session(id.to_owned())),
        Some("item.started" | "item.updated") => call_item(item, CallStatus::Running),
        // An item that completes at once has no earlier event.
        Some("item.completed") => text_item(item).or_else(|| call_item(item, call_status(item))),
        Some("turn.completed") => Some(Event::Done),
        Some("turn.failed") => Some(Event::Failed(reason(&event["error"]["message"]))),
        // An `error` is followed by a retry or by `turn.failed`.
        _ => None,
    };
    read.into_iter().collect()
}

fn text_item(item: &Value) -> Option<Event> {
    let text = item["text"].as_str().unwrap_or_default().to_owned();
    match item["type"].as_str()? {
        "agent_message" => Some(Event::Message(text)),
        "reasoning" => Some(Event::Thought(text)),
        _ => None,
    }
}

fn call_item(item: &Value, status: CallStatus) -> Option<Event> {
    let (id, name) = (item["id"].as_str()?, item["type"].as_str()?);
    let text = |key: &str| item[key].as_str().unwrap_or_default();
    let mut locations = Vec::new();
    let (line, kind) = match name {
        "command_execution" => (text("command").to_owned(), ToolKind::Execute),
        "file_change" => {
            locations = changed_locations(item);
            let paths: Vec<_> = locations.iter().map(|location| location.path.as_str()).collect();
            (format!("Edit {}", paths.join(", ")), ToolKind::Edit)
        }
        "mcp_tool_call" => (format!("{} {}", text("server"), text("tool")), ToolKind::Other),
        "web_search" => (format!("Search for {}", text("query")), ToolKind::Fetch),
        _ => return None,
    };
    let mut arguments = item.as_object()?.clone();
    arguments.retain(|key, _| {
        ["command", "changes", "server", "tool", "arguments", "query"].contains(&key.as_str())
    });
    Some(Event::Call(CallNews {
        id: id.to_owned(),
        name: Some(name.to_owned()),
        status: Some(status),
        details: ToolCallDetails {
            title: one_line(&line),
            kind: Some(kind),
            raw_input: Some(Value::Object(arguments)),
            locations,
            content: Vec::new(),
        },
        shown: call_content(item).map(|content| vec![Shown::Fixed(content)]),
        raw_output: (status == CallStatus::Failed).then(|| failure_reason(item).into()),
        terminals: Vec::new(),
    }))
}

fn call_status(item: &Value) -> CallStatus {
    let failed = matches!(item["status"].as_str(), Some("failed" | "declined"));
    if failed { CallStatus::Failed } else { CallStatus::Completed }
}

fn failure_reason(item: &Value) -> String {
    match item["exit_code"].as_i64() {
        Some(code) => format!("exit code {code}"),
        None => item["error"]["message"].as_str().unwrap_or("it was refused or failed").to_owned(),
    }
}

fn call_content(item: &Value) -> Option<ToolContent> {
    match (item["type"].as_str(), item["id"].as_str()) {
        (Some("command_execution"), Some(id)) => {
            let reply = |key: &str| item[key].as_str().unwrap_or_default();
            let exit_code = item["exit_code"].as_i64().and_then(|code| i32::try_from(code).ok());
            Some(terminal(id, reply("command"), reply("aggregated_output"), exit_code))
        }
        (Some("file_change"), _) => {
            let lines: Vec<_> = changes(item)
                .map(|(path, change)| format!("- {} {path}", change["kind"].as_str().unwrap_or("change")))
                .collect();
            Some(text(&lines.join("\n")))
        }
        _ => None,
    }
}

fn changed_locations(item: &Value) -> Vec<Location> {
    changes(item).map(|(path, _)| location(path)).collect()
}

fn changes(item: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let all = item["changes"].as_array().into_iter().flatten();
    all.filter_map(|change| Some((change["path"].as_str()?, change)))
}
