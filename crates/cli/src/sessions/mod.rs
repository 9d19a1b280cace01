//! `openagents sessions`: the past sessions of other agents.

mod continuing;
mod index;
mod keep;
mod share;
mod stats;

use crate::{
    args::{Filter, Sessions},
    output, surroundings, words,
};
use anyhow::Context;
use openagents_tools::tool::Limits;
use openagents_transcripts::history::{
    Event, EventKind, GoneReason, Outcome, PatternKind, Query, SearchMatch, SearchQuery, SearchResult, Span,
    Transcript, Unsearched,
};
use serde_json::{Value, json};
use std::{ops::ControlFlow, path::PathBuf, process::ExitCode};

/// Maximum length of a shown event in characters; JSON is complete.
const EVENT_CHARS: usize = 200;

pub(crate) fn run(command: &Sessions) -> anyhow::Result<ExitCode> {
    match command {
        Sessions::List(filter) => list(filter),
        Sessions::Show { id, limit, json } => show(id, *limit, *json),
        Sessions::Search { text, logs, regex, filter } => {
            let kind = if *regex { PatternKind::Expression } else { PatternKind::Typed };
            search(&text.join(" "), kind, *logs || *regex, filter)
        }
        Sessions::Index(command) => index::run(command),
        Sessions::Keep(keep) => keep::run(keep),
        Sessions::Continue(wanted) => continuing::run(wanted),
        Sessions::Brief { id, reader, budget, json } => {
            share::brief(id, reader.clone(), budget.map(usize::from), *json)
        }
        Sessions::Export(export) => share::export(export),
        Sessions::Stats { provider, tokens, json } => stats::run(*provider, *tokens, *json),
    }
}

fn list(filter: &Filter) -> anyhow::Result<ExitCode> {
    let rows = rows(filter)?;
    if filter.json {
        output::json_pretty(&rows)?;
        return Ok(ExitCode::SUCCESS);
    }
    if rows.is_empty() {
        output::line("No sessions found. Run `openagents sessions stats` to list the agents searched.")?;
    }
    let now = output::now_ms();
    let width = rows.iter().map(|row| row.provider.display_name().len()).max().unwrap_or_default();
    for row in &rows {
        let id = output::short(&row.id);
        let title = output::printable(row.title.as_deref().unwrap_or("(no title)"));
        let agent = row.provider.display_name();
        let place =
            row.folder().map(|folder| output::printable(&folder.display().to_string())).unwrap_or_default();
        let left = match row.gone.map(|gone| gone.reason) {
            None => "",
            Some(GoneReason::PromptsOnly) => "  (prompts only)",
            Some(_) => "  (kept copy)",
        };
        output::line(format_args!(
            "{id}  {:>3}  {agent:<width$}  {title}  {place}{left}",
            output::age(row.updated_at, now)
        ))?;
    }
    match rows.iter().filter(|row| row.why_incomplete().is_some()).count() {
        0 => {}
        1 => output::warn("1 session may be incomplete; `openagents sessions stats` says why"),
        many => {
            output::warn(&format!("{many} sessions may be incomplete; `openagents sessions stats` says why"))
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn rows(filter: &Filter) -> anyhow::Result<Vec<Transcript>> {
    let (provider, workspace) = (filter.provider, workspace(filter)?);
    let query = Query { provider, workspace, all: filter.all, limit: filter.limit, ..Query::default() };
    Ok(surroundings::history().list(&query, &surroundings::patience()).rows)
}

fn workspace(filter: &Filter) -> anyhow::Result<Option<PathBuf>> {
    let canonical = |path: &PathBuf| std::fs::canonicalize(path).with_context(|| path.display().to_string());
    filter.workspace.as_ref().map(canonical).transpose()
}

fn show(id: &str, limit: usize, json: bool) -> anyhow::Result<ExitCode> {
    let history = surroundings::history();
    let row = &surroundings::session(&history, id)?;
    let mut events = Vec::new();
    let end = history
        .read_transcript(row, Span::default(), &surroundings::patience(), &mut |event| {
            if events.len() == limit {
                return ControlFlow::Break(());
            }
            events.push(event);
            ControlFlow::Continue(())
        })
        .with_context(|| row.file_path.display().to_string())?;
    if json {
        let events: Vec<_> = events.iter().map(event_json).collect();
        output::json_pretty(&json!({"session": row, "events": events, "bad_lines": end.bad_lines}))?;
        return Ok(ExitCode::SUCCESS);
    }
    output::line(output::printable(row.title.as_deref().unwrap_or("(no title)")))?;
    output::line(format_args!("{} {} {}", row.provider.display_name(), row.id, row.file_path.display()))?;
    if row.gone.is_some() {
        output::line("Kept copy: its log no longer exists")?;
    }
    if let Some(original) = &row.continues {
        output::line(format_args!("Continues session {}", output::printable(original)))?;
    }
    for event in &events {
        let words = output::printable(&output::first_words(&event_words(event), EVENT_CHARS));
        let undone = if event.undone { "(undone) " } else { "" };
        output::line(format_args!("{:>6}  {:<12} {undone}{words}", event.line, event.kind.as_str()))?;
    }
    if end.bad_lines > 0 {
        let lines = if end.bad_lines == 1 { "line" } else { "lines" };
        output::warn(&format!("{} {lines} of this session could not be read", end.bad_lines));
    }
    let of_its_kind = Transcript { bad_lines: 0, ..row.clone() };
    if let Some(why) = of_its_kind.why_incomplete() {
        output::warn(&format!("this session may be incomplete: {}", output::printable(&why)));
    }
    if events.len() == limit {
        output::warn(&format!("the first {limit} events; --limit shows more"));
    }
    Ok(ExitCode::SUCCESS)
}

fn event_words(event: &Event) -> String {
    let outcome = match event.action.outcome {
        Some(Outcome::Exit(0)) | None => String::new(),
        Some(Outcome::Exit(code)) => format!("exit code {code} "),
        Some(Outcome::NotRun) => "not run ".to_owned(),
    };
    match &event.kind {
        EventKind::ToolCall { name } => format!("{name} {outcome}{}", event.text),
        EventKind::CommandEnd => {
            format!("{outcome}{}", event.action.command.as_deref().unwrap_or_default())
        }
        _ => format!("{outcome}{}", event.text),
    }
}

fn event_json(event: &Event) -> Value {
    let files: Vec<_> = event.files.iter().map(|file| &file.path).collect();
    json!({"type": event.kind.as_str(), "lineNumber": event.line, "timestamp": event.timestamp,
        "content": event_words(event), "files": files, "sidechain": event.sidechain, "copied": event.copied,
        "undone": event.undone})
}

fn search(pattern: &str, kind: PatternKind, whole_logs: bool, filter: &Filter) -> anyhow::Result<ExitCode> {
    let limits = Limits::default();
    let workspace = workspace(filter)?;
    let query = SearchQuery {
        pattern: pattern.to_owned(),
        kind,
        whole_logs,
        provider: filter.provider,
        workspace_only: workspace.is_some(),
        workspace,
        all: filter.all,
        max_matches: if filter.limit == 0 { usize::MAX } else { filter.limit },
        line_chars: limits.search_line_chars,
        file_bytes: u64::MAX,
        total_bytes: u64::MAX,
        ..SearchQuery::default()
    };
    let found = surroundings::history()
        .search(&query, &surroundings::patience(), &surroundings::patience(), &())
        .map_err(|reason| {
            output::Usage(match kind {
                PatternKind::Expression => format!("{pattern} is not a regular expression: {reason}"),
                PatternKind::Typed => "enter the text to search for".to_owned(),
            })
        })?;
    if filter.json {
        let rows: Vec<_> = found.matches.iter().map(match_json).collect();
        let Unsearched { ends, long, results } = found.unsearched;
        output::json_pretty(&json!({"pattern": pattern, "matches": rows, "totalMatches": found.total,
            "truncated": found.truncated, "timedOut": found.timed_out, "omitted": found.omitted,
            "notSearched": {"sessionEnds": ends, "longMessages": long, "toolOutput": results}}))?;
        return Ok(ExitCode::SUCCESS);
    }
    for hit in &found.matches {
        let id = output::short(&hit.session_id);
        let line = output::printable(&hit.line);
        output::line(format_args!("{} {id}:{}  {line}", hit.provider.as_str(), hit.line_number))?;
    }
    if found.matches.is_empty() {
        output::line(format_args!("No match for {}", output::printable(pattern)))?;
    } else if found.total > found.matches.len() {
        output::warn(&format!(
            "the first {} of at least {} matches; --limit shows more",
            found.matches.len(),
            found.total
        ));
    }
    limits_of(&found, kind).iter().for_each(|limit| output::warn(limit));
    Ok(ExitCode::SUCCESS)
}

fn limits_of(found: &SearchResult, kind: PatternKind) -> Vec<String> {
    let mut lines = Vec::new();
    if found.timed_out {
        lines.push(format!(
            "stopped after {} s: some sessions were not searched",
            surroundings::PATIENCE.as_secs()
        ));
    }
    if found.omitted > 0 {
        lines.push(format!("skipped {}", words::count(found.omitted, "unreadable or very long line")));
    }
    let Unsearched { ends, long, results } = found.unsearched;
    let mut left: Vec<String> = Vec::new();
    if ends > 0 {
        left.push(format!("the end of {}", words::count(ends as u64, "long session")));
    }
    if long > 0 {
        left.push(format!("the end of {}", words::count(long as u64, "long message")));
    }
    if results && kind == PatternKind::Typed {
        left.push("tool output".to_owned());
    }
    if !left.is_empty() {
        lines.push(format!("not searched: {}; --logs searches everything", left.join(", ")));
    }
    lines
}

fn match_json(hit: &SearchMatch) -> Value {
    json!({"sessionId": hit.session_id, "provider": hit.provider, "lineNumber": hit.line_number, "line": hit.line})
}
