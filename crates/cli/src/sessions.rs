//! `openagents sessions`: the past sessions of other agents.

use crate::{
    args::{Filter, Sessions},
    output, surroundings,
};
use anyhow::Context;
use openagents_core::{
    CancellationToken,
    history::{Query, Transcript},
    tool::{Budget, Limits},
    workspace::Workspace,
};
use serde_json::{Value, json};
use std::{
    process::ExitCode,
    time::{Duration, Instant},
};

/// A person who asks for a list by hand may wait for a first, cold one.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn run(command: &Sessions) -> anyhow::Result<ExitCode> {
    match command {
        Sessions::List(filter) => list(filter),
        Sessions::Show { id, limit, json } => show(id, *limit, *json),
        Sessions::Search { pattern, filter } => search(pattern, filter),
    }
}

fn list(filter: &Filter) -> anyhow::Result<ExitCode> {
    let rows = rows(filter)?;
    if filter.json {
        output::json_pretty(&rows)?;
        return Ok(ExitCode::SUCCESS);
    }
    if rows.is_empty() {
        output::line("No sessions. Codex keeps them in ~/.codex, Claude Code in ~/.claude.")?;
    }
    let now = output::now_ms();
    for row in &rows {
        let id: String = row.id.chars().take(8).collect();
        let title = output::printable(row.title.as_deref().unwrap_or("(no title)"));
        let agent = row.provider.display_name();
        let place =
            row.cwd.as_ref().map(|cwd| output::printable(&cwd.display().to_string())).unwrap_or_default();
        output::line(format_args!(
            "{id}  {:>3}  {agent:<11}  {title}  {place}",
            output::age(row.updated_at, now)
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn rows(filter: &Filter) -> anyhow::Result<Vec<Transcript>> {
    let workspace = match &filter.workspace {
        Some(path) => Some(std::fs::canonicalize(path).with_context(|| path.display().to_string())?),
        None => None,
    };
    let query =
        Query { provider: filter.provider, workspace, since: None, all: filter.all, limit: filter.limit };
    Ok(surroundings::history().list(&query, &patience()).rows)
}

fn patience() -> Budget {
    Budget::new(Instant::now() + PATIENCE, CancellationToken::new())
}

fn show(id: &str, limit: usize, json: bool) -> anyhow::Result<ExitCode> {
    let history = surroundings::history();
    let query = Query { all: true, ..Query::default() };
    let found: Vec<_> =
        history.list(&query, &patience()).rows.into_iter().filter(|row| row.id.starts_with(id)).collect();
    let row = match found.as_slice() {
        [] => anyhow::bail!("no session whose id begins with {id}; see `openagents sessions list --all`"),
        [row] => row,
        many => anyhow::bail!("{} sessions have an id that begins with {id}; give more of it", many.len()),
    };
    let arguments = json!({"sessionId": row.id, "provider": row.provider, "maxEvents": limit});
    let result = in_some_workspace("session.read", arguments)?;
    if json {
        output::json_pretty(&json!({"session": row, "content": result}))?;
        return Ok(ExitCode::SUCCESS);
    }
    output::line(output::printable(row.title.as_deref().unwrap_or("(no title)")))?;
    output::line(format_args!("{} {} {}", row.provider.display_name(), row.id, row.file_path.display()))?;
    for event in result["events"].as_array().into_iter().flatten() {
        let content = output::printable(event["content"].as_str().unwrap_or_default());
        output::line(format_args!(
            "{:>6}  {:<12} {content}",
            event["lineNumber"],
            event["type"].as_str().unwrap_or_default()
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn search(pattern: &str, filter: &Filter) -> anyhow::Result<ExitCode> {
    let mut arguments = json!({"pattern": pattern, "maxResults": filter.limit, "provider": filter.provider});
    if filter.workspace.is_some() {
        let everything =
            Filter { limit: 0, provider: filter.provider, workspace: filter.workspace.clone(), ..*filter };
        let ids: Vec<_> = rows(&everything)?.into_iter().map(|row| row.id).collect();
        if ids.is_empty() {
            anyhow::bail!("no session ran in that workspace");
        }
        arguments["sessionIds"] = json!(ids);
    }
    let result = in_some_workspace("session.search", arguments)?;
    if filter.json {
        output::json_pretty(&result)?;
        return Ok(ExitCode::SUCCESS);
    }
    let matches = result["matches"].as_array().map(Vec::as_slice).unwrap_or_default();
    if matches.is_empty() {
        output::line(format_args!("No match for {pattern}"))?;
    }
    for hit in matches {
        let id: String = hit["sessionId"].as_str().unwrap_or_default().chars().take(8).collect();
        let line = output::printable(hit["line"].as_str().unwrap_or_default());
        output::line(format_args!(
            "{} {id}:{}  {line}",
            hit["provider"].as_str().unwrap_or_default(),
            hit["lineNumber"]
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The session tools read the agents' folders and nothing of the workspace, but a tool is always given one.
fn in_some_workspace(tool: &str, arguments: Value) -> anyhow::Result<Value> {
    let folder = surroundings::data_folder()?;
    std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let limits = Limits { search_time: PATIENCE, search_total_bytes: u64::MAX, ..Limits::default() };
    match surroundings::call_tool(&Workspace::open(&folder)?, &limits, tool, arguments) {
        Ok(result) => Ok(result.value),
        Err(error @ openagents_core::tool::ToolError::InvalidParameters(_)) => {
            Err(output::Usage(error.to_string()).into())
        }
        Err(error) => Err(error.into()),
    }
}
