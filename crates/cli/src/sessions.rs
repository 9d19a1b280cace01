//! `openagents sessions`: the past sessions of other agents.

use crate::{
    args::{Filter, IndexCommand, Sessions},
    output, surroundings,
};
use anyhow::Context;
use openagents_core::{CancellationToken, budget::Budget};
use openagents_tools::tool::Limits;
use openagents_transcripts::{
    history::{
        Event, EventKind, History, Listing, Outcome, PatternKind, Provider, Query, SearchMatch, SearchQuery,
        SearchResult, Span, Transcript, Unknown, Unsearched, UsageTotal,
    },
    history_index::{HistoryIndex, IndexProgress, IndexStatus},
};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    ops::ControlFlow,
    path::PathBuf,
    process::ExitCode,
    time::{Duration, Instant},
};

/// Time limit for a first list of many gigabytes, and for reading all of them once.
const PATIENCE: Duration = Duration::from_secs(60);

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
        Sessions::Index(command) => index(command),
        Sessions::Stats { provider, tokens, json } => stats(*provider, *tokens, *json),
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
            row.cwd.as_ref().map(|cwd| output::printable(&cwd.display().to_string())).unwrap_or_default();
        output::line(format_args!(
            "{id}  {:>3}  {agent:<width$}  {title}  {place}",
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
    Ok(surroundings::history().list(&query, &patience()).rows)
}

fn workspace(filter: &Filter) -> anyhow::Result<Option<PathBuf>> {
    let canonical = |path: &PathBuf| std::fs::canonicalize(path).with_context(|| path.display().to_string());
    filter.workspace.as_ref().map(canonical).transpose()
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
        [] => anyhow::bail!("no session id begins with {id}; see `openagents sessions list --all`"),
        [row] => row,
        many => anyhow::bail!("{} session ids begin with {id}; type more of the id", many.len()),
    };
    let mut events = Vec::new();
    let end = history
        .read_transcript(row, Span::default(), &patience(), &mut |event| {
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
    if let Some(original) = &row.continues {
        output::line(format_args!("Continues session {}", output::printable(original)))?;
    }
    for event in &events {
        let words = output::printable(&output::first_words(&event_words(event), EVENT_CHARS));
        let taken_back = if event.taken_back { "(taken back) " } else { "" };
        output::line(format_args!("{:>6}  {:<12} {taken_back}{words}", event.line, event.kind.as_str()))?;
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
        "takenBack": event.taken_back})
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
    let found = surroundings::history().search(&query, &patience(), &patience(), &()).map_err(|reason| {
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

/// Returns the gaps in a search result, one per line.
fn limits_of(found: &SearchResult, kind: PatternKind) -> Vec<String> {
    let mut lines = Vec::new();
    if found.timed_out {
        lines.push(format!("stopped after {} s: some sessions were not searched", PATIENCE.as_secs()));
    }
    if found.omitted > 0 {
        lines.push(format!("skipped {}", counted(found.omitted, "unreadable or very long line")));
    }
    let Unsearched { ends, long, results } = found.unsearched;
    let mut left: Vec<String> = Vec::new();
    if ends > 0 {
        left.push(format!("the end of {}", counted(ends as u64, "long session")));
    }
    if long > 0 {
        left.push(format!("the end of {}", counted(long as u64, "long message")));
    }
    if results && kind == PatternKind::Typed {
        left.push("tool output".to_owned());
    }
    if !left.is_empty() {
        lines.push(format!("not searched: {}; --logs searches everything", left.join(", ")));
    }
    lines
}

fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn match_json(hit: &SearchMatch) -> Value {
    json!({"sessionId": hit.session_id, "provider": hit.provider, "lineNumber": hit.line_number, "line": hit.line})
}

// `openagents sessions index`: the state of the full-text index of other agents' transcripts.

pub(crate) fn index(command: &IndexCommand) -> anyhow::Result<ExitCode> {
    let home = surroundings::data_folder()?;
    let failed = || format!("the index in {} failed", home.display());
    let history = surroundings::history();
    if !command.changes() {
        let status = HistoryIndex::open_existing(&home).map(|index| index.status()).transpose();
        return show_session_index(
            status.with_context(failed)?.unwrap_or_default(),
            count(&history),
            command.json,
        );
    }
    let index = HistoryIndex::open(&home)
        .with_context(|| format!("the index in {} cannot be opened", home.display()))?;
    // Counts before the cache of the list is cleared too: counting fills it.
    let found = count(&history);
    if command.clear || command.rebuild {
        index.clear().with_context(failed)?;
        history.clear_cache();
    }
    if command.wait || command.rebuild {
        let mut shown = 0;
        let mut progress = |IndexProgress { done, total }: IndexProgress| {
            // The user may exclude some sessions meanwhile. If the exclusions cannot be read, the remaining ones are
            // not indexed.
            if surroundings::exclude_stored(&history, &home).is_err() {
                return false;
            }
            // One line per twentieth of the work.
            let part = (done * 20).checked_div(total).unwrap_or(20);
            if part > shown && !command.json {
                shown = part;
                output::warn(&format!("indexed {done} of {total} sessions"));
            }
            true
        };
        index.update(&history, &CancellationToken::new(), &mut progress).with_context(failed)?;
    }
    let status = index.status().with_context(failed)?;
    index.checkpoint();
    history.checkpoint();
    show_session_index(status, found, command.json)
}

/// Returns the number of sessions.
fn count(history: &History) -> usize {
    history.list(&Query::default(), &Budget::within(PATIENCE, &CancellationToken::new())).total
}

fn show_session_index(
    IndexStatus { sessions, cut, bytes }: IndexStatus,
    found: usize,
    json: bool,
) -> anyhow::Result<ExitCode> {
    if json {
        output::json_pretty(&json!({"sessions": sessions, "found": found, "cut": cut, "bytes": bytes}))?;
    } else {
        let megabytes = bytes as f64 / 1e6;
        output::line(format_args!("{sessions} of {found} sessions indexed, {megabytes:.1} MB"))?;
        if cut > 0 {
            output::line(format_args!("{cut} of them up to the first 256 KiB of their text"))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

// `openagents sessions stats`: counts of other agents' sessions that were found and read.

const READING: Duration = Duration::from_secs(600);

pub(crate) fn stats(only: Option<Provider>, tokens: bool, as_json: bool) -> anyhow::Result<ExitCode> {
    let history = surroundings::history();
    let query = Query { provider: only, all: true, ..Query::default() };
    let Listing { rows, unread, .. } = history.list(&query, &within(PATIENCE));
    let mut agents = Vec::new();
    for provider in Provider::ALL.into_iter().filter(|provider| only.is_none_or(|only| only == *provider)) {
        let own: Vec<_> = rows.iter().filter(|row| row.provider == provider).collect();
        let usage = (tokens && !own.is_empty()).then(|| history.token_usage(provider, &within(READING)));
        let files = match own.is_empty() {
            true => BTreeMap::new(),
            false => history.unknown_files(provider, &within(PATIENCE)),
        };
        agents.push(Agent { unknown_files: files, ..Agent::new(provider, &own, usage.flatten()) });
    }
    if as_json {
        output::json_pretty(&agents.iter().map(Agent::json).collect::<Vec<_>>())?;
    } else if rows.is_empty() {
        let names = Provider::ALL.map(Provider::display_name).join(", ");
        output::line(format_args!("No sessions of {names} were found."))?;
    } else {
        for agent in &agents {
            agent.print(tokens)?;
        }
    }
    if unread > 0 {
        output::warn(&format!("{unread} sessions were not read in time; run it again"));
    }
    Ok(ExitCode::SUCCESS)
}

/// Counts of an agent's sessions.
struct Agent {
    provider: Provider,
    sessions: usize,
    hidden: usize,
    bad_lines: u64,
    newest: Option<i64>,
    usage: Option<UsageTotal>,
    /// Sessions that may be incomplete.
    incomplete: usize,
    /// Data unknown to the agent's reader, by the agent's version.
    versions: BTreeMap<String, OfVersion>,
    /// The number of unknown files of each kind among its sessions.
    unknown_files: BTreeMap<String, u64>,
}

/// Data unknown to the reader, in the sessions of one version of an agent.
#[derive(Default)]
struct OfVersion {
    sessions: usize,
    unknown: Unknown,
}

impl Agent {
    fn new(provider: Provider, own: &[&Transcript], usage: Option<UsageTotal>) -> Self {
        let mut versions: BTreeMap<String, OfVersion> = BTreeMap::new();
        for row in own.iter().filter(|row| !row.unknown.is_empty()) {
            let of_version = versions.entry(row.version.clone().unwrap_or_default()).or_default();
            of_version.sessions += 1;
            of_version.unknown.add(&row.unknown);
        }
        Self {
            incomplete: own.iter().filter(|row| row.why_incomplete().is_some()).count(),
            versions,
            unknown_files: BTreeMap::new(),
            provider,
            sessions: own.len(),
            hidden: own.iter().filter(|row| row.hidden || row.subagent).count(),
            bad_lines: own.iter().map(|row| row.bad_lines).sum(),
            newest: own.iter().map(|row| row.updated_at).max(),
            usage,
        }
    }

    fn json(&self) -> serde_json::Value {
        let mut row = json!({"provider": self.provider, "sessions": self.sessions, "hidden": self.hidden,
            "badLines": self.bad_lines, "newest": self.newest, "incomplete": self.incomplete});
        let unknown = self.versions.iter().map(|(version, OfVersion { sessions, unknown })| {
            json!({"version": version, "sessions": sessions, "records": unknown.records, "fields": unknown.fields})
        });
        row["unknown"] = unknown.collect();
        row["unknownFiles"] = json!(self.unknown_files);
        if let Some(usage) = &self.usage {
            row["tokens"] = json!(usage.tokens);
            row["unread"] = usage.unread.into();
        }
        row
    }

    fn print(&self, with_tokens: bool) -> anyhow::Result<()> {
        let Some(newest) = self.newest else { return Ok(()) };
        let tokens = match &self.usage {
            Some(UsageTotal { tokens, unread: 0 }) => format!(", {} tokens", tokens.total()),
            Some(UsageTotal { tokens, unread }) => {
                format!(", {} tokens without {unread} sessions that could not be read", tokens.total())
            }
            None if with_tokens => ", tokens are not counted by request".to_owned(),
            None => String::new(),
        };
        output::line(format_args!(
            "{:<19} {:>6} sessions, {} hidden, {} lines not understood, newest {}{tokens}",
            self.provider.display_name(),
            self.sessions,
            self.hidden,
            self.bad_lines,
            output::age(newest, output::now_ms())
        ))?;
        for line in self.notes() {
            output::line(format_args!("    {}", output::printable(&line)))?;
        }
        Ok(())
    }

    /// Describes the data unknown to the reader.
    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.incomplete > 0 {
            notes.push(format!("{} may be incomplete", sessions(self.incomplete)));
        }
        for (version, OfVersion { sessions: count, unknown }) in &self.versions {
            let version = if version.is_empty() { "of an unknown version" } else { version };
            notes.push(format!("not known to OpenAgents, in {} {version}:", sessions(*count)));
            let records = unknown.records.iter().map(|(kind, count)| format!("  record {kind}, {count}×"));
            let fields = unknown.fields.iter().map(|(field, count)| format!("  field {field}, {count}×"));
            notes.extend(records.chain(fields));
        }
        if !self.unknown_files.is_empty() {
            let kinds = self.unknown_files.iter().map(|(kind, count)| format!("{kind} ({count})"));
            notes.push(format!("unknown files: {}", kinds.collect::<Vec<_>>().join(", ")));
        }
        notes
    }
}

fn sessions(count: usize) -> String {
    if count == 1 { "1 session".to_owned() } else { format!("{count} sessions") }
}

fn within(time: Duration) -> Budget {
    Budget::within(time, &CancellationToken::new())
}
