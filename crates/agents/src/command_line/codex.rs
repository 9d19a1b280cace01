//! What `codex exec --json` prints (codex 0.169).

use super::news::{Call, News, location, terminal, text, title};
use openagents_core::update::{Location, ToolContent, ToolKind};
use serde_json::Value;

/// The prompt comes on standard input. A folder that is no Git repository is as good as one: the person chose it.
pub(super) fn arguments(resume: Option<&str>) -> Vec<&str> {
    match resume {
        Some(session) => vec!["exec", "resume", "--json", "--skip-git-repo-check", session, "-"],
        None => vec!["exec", "--json", "--skip-git-repo-check", "-"],
    }
}

/// Reads a line; what is not known says nothing.
pub(super) fn read(line: &[u8]) -> Vec<News> {
    let Ok(event) = serde_json::from_slice::<Value>(line) else { return Vec::new() };
    let said = |value: &Value| value.as_str().unwrap_or("it did not say why").to_owned();
    let news = match event["type"].as_str() {
        Some("thread.started") => event["thread_id"].as_str().map(|id| News::Session(id.to_owned())),
        Some("item.started") => began(&event["item"]),
        Some("item.updated") => went(&event["item"], false),
        // One that was over at once was never announced.
        Some("item.completed") => {
            let item = &event["item"];
            return [began(item), spoke(item).or_else(|| went(item, true))].into_iter().flatten().collect();
        }
        Some("turn.completed") => Some(News::Done),
        Some("turn.failed") => Some(News::Failed(said(&event["error"]["message"]))),
        // Others follow while it tries again; the last one is that of `turn.failed`.
        _ => None,
    };
    news.into_iter().collect()
}

fn spoke(item: &Value) -> Option<News> {
    let text = item["text"].as_str().unwrap_or_default().to_owned();
    match item["type"].as_str()? {
        "agent_message" => Some(News::Said(text)),
        "reasoning" => Some(News::Thought(text)),
        _ => None,
    }
}

fn began(item: &Value) -> Option<News> {
    let (id, name) = (item["id"].as_str()?, item["type"].as_str()?);
    let said = |key: &str| item[key].as_str().unwrap_or_default();
    let mut locations = Vec::new();
    let (line, kind) = match name {
        "command_execution" => (said("command").to_owned(), ToolKind::Execute),
        "file_change" => {
            locations = changed(item);
            let paths: Vec<_> = locations.iter().map(|location| location.path.as_str()).collect();
            (format!("Edit {}", paths.join(", ")), ToolKind::Edit)
        }
        "mcp_tool_call" => (format!("{} {}", said("server"), said("tool")), ToolKind::Other),
        "web_search" => (format!("Search for {}", said("query")), ToolKind::Fetch),
        _ => return None,
    };
    let mut arguments = item.as_object()?.clone();
    arguments.retain(|key, _| {
        ["command", "changes", "server", "tool", "arguments", "query"].contains(&key.as_str())
    });
    Some(News::Began(Call {
        id: id.to_owned(),
        name: name.to_owned(),
        title: title(&line),
        kind,
        arguments,
        locations,
        content: shown(item),
    }))
}

fn went(item: &Value, ended: bool) -> Option<News> {
    let id = item["id"].as_str()?.to_owned();
    let end = ended.then(|| match (item["status"].as_str(), item["exit_code"].as_i64()) {
        (Some("failed" | "declined"), Some(code)) => Err(format!("exit code {code}")),
        (Some("failed" | "declined"), None) => {
            Err(item["error"]["message"].as_str().unwrap_or("it was refused or failed").to_owned())
        }
        _ => Ok(Value::Null),
    });
    Some(News::Went { id, content: shown(item), end })
}

fn shown(item: &Value) -> Vec<ToolContent> {
    match (item["type"].as_str(), item["id"].as_str()) {
        (Some("command_execution"), Some(id)) => {
            let said = |key: &str| item[key].as_str().unwrap_or_default();
            let exit_code = item["exit_code"].as_i64().and_then(|code| i32::try_from(code).ok());
            vec![terminal(id, said("command"), said("aggregated_output"), exit_code)]
        }
        (Some("file_change"), _) => {
            let lines: Vec<_> = changes(item)
                .map(|(path, change)| format!("- {} {path}", change["kind"].as_str().unwrap_or("change")))
                .collect();
            vec![text(&lines.join("\n"))]
        }
        _ => Vec::new(),
    }
}

fn changed(item: &Value) -> Vec<Location> {
    changes(item).map(|(path, _)| location(path)).collect()
}

fn changes(item: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let all = item["changes"].as_array().into_iter().flatten();
    all.filter_map(|change| Some((change["path"].as_str()?, change)))
}
