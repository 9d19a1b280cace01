//! Listing, reading and searching other agents' transcripts.

use super::to_wire;
use crate::base::error::Fault;
use openagents_core::{CancellationToken, budget::Budget};
use openagents_sessions::store::TranscriptLabel;
use openagents_transcripts::{
    history::{
        Event, EventKind, History, Part, PatternKind, Provider, Query, SearchQuery, SearchText, SessionKey,
        Transcript,
    },
    history_index::{IndexProgress, IndexedMatches},
    replay::Replay,
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    time::Duration,
};

/// Time limit for finding the transcripts.
pub(super) const LIST_TIME: Duration = Duration::from_secs(5);
/// Time limit for reading transcripts that are not cached. Many gigabytes take longer; each request finds more of them.
const LIST_READ_TIME: Duration = Duration::from_millis(80);
/// The same limit, used when nothing was read within [`LIST_READ_TIME`].
const FIRST_READ_TIME: Duration = Duration::from_millis(1_000);
/// Time limit for reading a part of a transcript.
const READ_TIME: Duration = Duration::from_secs(5);
/// Maximum and default number of rows per page.
const ROWS: usize = 200;
/// Maximum bytes of a query.
pub(super) const QUERY: usize = 1_000;
/// Maximum number of lines that a search in one transcript returns.
const LINES: usize = 5_000;
/// Maximum bytes of a part: a few hundred rows of a timeline.
const PART: u64 = 512 << 10;

/// Params of `_openagents/history/list`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HistoryPage {
    #[serde(default)]
    limit: Option<usize>,
    /// Return only transcripts that are listed after this one.
    #[serde(default)]
    after: Option<SessionName>,
    #[serde(default)]
    filter: HistoryFilter,
}

/// A filter for the list; matches everything by default.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct HistoryFilter {
    #[serde(default, deserialize_with = "some_provider")]
    provider: Option<Provider>,
    /// Transcripts of sessions that ran in this folder.
    cwd: Option<PathBuf>,
    branch: Option<String>,
    /// Transcripts changed since this time, in milliseconds since the epoch.
    since: Option<i64>,
    archived: Option<bool>,
}

/// The name of a transcript of another agent.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct SessionName {
    #[serde(deserialize_with = "provider")]
    provider: Provider,
    id: String,
}

/// Params of `_openagents/history/read`. Without a position, the end is read; offsets come from earlier parts.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HistoryPart {
    #[serde(flatten)]
    session: SessionName,
    #[serde(default)]
    before: Option<u64>,
    #[serde(default)]
    from: Option<u64>,
    #[serde(default)]
    line: Option<u64>,
}

/// Params of `_openagents/history/line`.
#[derive(Debug, Deserialize)]
pub(crate) struct HistoryLine {
    #[serde(flatten)]
    session: SessionName,
    /// The line number, counted from 1.
    line: u64,
}

/// Params of `_openagents/history/find`.
#[derive(Debug, Deserialize)]
pub(crate) struct HistoryFind {
    #[serde(flatten)]
    session: SessionName,
    query: String,
    #[serde(default)]
    limit: Option<usize>,
}

/// Builds the list rows of transcripts for one client.
pub(crate) struct Row {
    /// The user's labels.
    pub(super) labels: HashMap<SessionKey, TranscriptLabel>,
    /// Whether the client runs on this machine; only then rows include the path of the log.
    pub(super) is_here: bool,
}

/// Returns a page of the list, newest first; the first page also has all pinned transcripts. Blocks.
pub(super) fn list(history: &History, shown: &Row, page: &HistoryPage) -> Value {
    let HistoryFilter { provider, cwd, branch, since, archived } = &page.filter;
    let query = Query {
        read_time: Some(LIST_READ_TIME),
        provider: *provider,
        workspace: cwd.clone(),
        since: *since,
        ..Query::default()
    };
    let mut listing = history.list(&query, &within(LIST_TIME));
    if listing.rows.is_empty() && listing.unread > 0 {
        // A slow disk, or a long log that is read first. An empty list would suggest that there are no transcripts.
        let query = Query { read_time: Some(FIRST_READ_TIME), ..query };
        listing = history.list(&query, &within(LIST_TIME));
    }
    listing.rows.retain(|row| {
        branch.as_ref().is_none_or(|branch| row.branch.as_ref() == Some(branch))
            && archived.is_none_or(|archived| shown.label(row).marks.archived == archived)
    });
    let total = listing.rows.len();
    let incomplete = listing.rows.iter().filter(|row| row.why_incomplete().is_some()).count();
    let mut rows = listing.rows.iter().peekable();
    let is_first = page.after.is_none();
    if let Some(after) = &page.after {
        // If the transcript is gone or has moved, the list starts over.
        let known = listing.rows.iter().position(|row| row.provider == after.provider && row.id == after.id);
        if let Some(last) = known {
            rows.nth(last);
        }
    }
    let limit = page.limit.unwrap_or(ROWS).min(ROWS);
    let mut sessions: Vec<Value> = rows.by_ref().take(limit).map(|row| shown.json(row)).collect();
    let more = rows.peek().is_some();
    if is_first {
        sessions.extend(rows.filter(|row| shown.label(row).marks.pinned).map(|row| shown.json(row)));
    }
    json!({"sessions": sessions, "more": more, "total": total, "unread": listing.unread, "incomplete": incomplete})
}

impl Row {
    fn label(&self, row: &Transcript) -> TranscriptLabel {
        self.labels.get(&(row.provider, row.id.clone())).cloned().unwrap_or_default()
    }

    pub(super) fn json(&self, row: &Transcript) -> Value {
        let TranscriptLabel { title, marks } = self.label(row);
        let mut shown = json!({
            "provider": row.provider.as_str(),
            "agent": row.provider.display_name(),
            "id": row.id,
            "title": title.as_ref().or(row.title.as_ref()),
            "cwd": row.cwd.as_deref().map(|cwd| cwd.to_string_lossy()),
            "branch": row.branch,
            "model": row.model,
            "createdAt": row.created_at,
            "updatedAt": row.updated_at,
            "resume": row.provider.resume_command(&row.id),
        });
        if self.is_here {
            shown["file"] = row.file_path.to_string_lossy().into();
        }
        if let Some(why) = row.why_incomplete() {
            shown["incomplete"] = why.into();
        }
        if let Some(original) = &row.continues {
            shown["continues"] = original.as_str().into();
        }
        for (mark, name) in [(marks.pinned, "pinned"), (marks.archived || row.archived, "archived")] {
            if mark {
                shown[name] = true.into();
            }
        }
        shown
    }
}

/// Returns the lines of a transcript that contain a text. Blocks.
pub(super) fn find_lines(history: &History, wanted: &HistoryFind) -> Result<Value, Fault> {
    let budget = within(READ_TIME);
    let found = find(history, &wanted.session, &budget)?;
    let query = openagents_sessions::prune::head(&wanted.query, QUERY);
    if query.is_empty() {
        return Err(Fault::invalid_params("The query is empty."));
    }
    let limit = wanted.limit.unwrap_or(LINES).min(LINES);
    let read = history.find_lines(&found, query, limit, &budget);
    let (lines, more) = read.map_err(|error| unreadable(&found, &error))?;
    Ok(json!({"lines": lines, "more": more}))
}

/// Returns a part of a transcript as updates. Blocks.
pub(super) fn read(history: &History, rows: &Row, wanted: &HistoryPart) -> Result<Value, Fault> {
    let budget = within(READ_TIME);
    let HistoryPart { session, before, from, line } = wanted;
    let found = find(history, session, &budget)?;
    let part = match (before, from, line) {
        (Some(offset), ..) => Part::Before(*offset),
        (_, Some(offset), _) => Part::From(*offset),
        (_, _, Some(line)) => Part::Around(*line),
        _ => Part::End,
    };
    let read = history.shown_part(&found, part, PART, &budget);
    let (read, mut images) = read.map_err(|error| unreadable(&found, &error))?;
    let mut replay = Replay::new(found.cwd.as_deref());
    let mut at = found.created_at.unwrap_or(found.updated_at);
    let mut updates = Vec::new();
    for event in read.events.into_iter().filter(|event| found.subagent || !event.sidechain) {
        at = event.timestamp.unwrap_or(at);
        let (line, is_prompt) = (event.line, event.kind == EventKind::Prompt);
        let (child, taken_back) = (event.action.child_session.clone(), event.taken_back);
        let mut shown = update(&found.id, at, event, &mut replay);
        if let (Some(shown), Some(child)) = (&mut shown, child) {
            shown["update"]["_meta"]["openagents"]["childSessionId"] = child.into();
        }
        if let Some(shown) = shown.as_mut().filter(|_| taken_back) {
            shown["_meta"]["openagents"]["takenBack"] = true.into();
        }
        // If a line has several events, the first one shows the images.
        let images = if shown.is_some() { images.remove(&line).unwrap_or_default() } else { Vec::new() };
        let message_id = format!("images-{line}");
        if let Some(prompt) = shown.as_mut().filter(|_| is_prompt && !images.is_empty()) {
            prompt["update"]["messageId"] = message_id.as_str().into();
        }
        updates.extend(shown);
        let shown = |image| to_wire::image(&found.id, (line, at), is_prompt, &message_id, image);
        updates.extend(images.into_iter().map(shown));
    }
    Ok(json!({
        "session": rows.json(&found),
        "updates": updates,
        "from": read.from,
        "to": read.to,
        "size": read.size,
        "omitted": read.omitted,
    }))
}

/// Returns a raw line of a transcript, for the inspector. Blocks.
pub(super) fn line(history: &History, wanted: &HistoryLine) -> Result<Value, Fault> {
    let budget = within(READ_TIME);
    let found = find(history, &wanted.session, &budget)?;
    let read = history.line(&found, wanted.line, &budget);
    let text = read.map_err(|error| unreadable(&found, &error))?.ok_or_else(|| {
        Fault::not_found(format!("Line {} is no longer in {}.", wanted.line, found.file_path.display()))
    })?;
    Ok(json!({"text": text}))
}

fn find(history: &History, session: &SessionName, budget: &Budget) -> Result<Transcript, Fault> {
    history.find(&session.id, Some(session.provider), budget).ok_or_else(|| {
        let id = openagents_sessions::prune::head(&session.id, 128);
        Fault::not_found(format!("{} has no session {id} any more.", session.provider.display_name()))
    })
}

fn unreadable(session: &Transcript, error: &std::io::Error) -> Fault {
    Fault::internal(format!("{} could not be read: {error}.", session.file_path.display()))
}

/// Returns the params of a `session/update` whose number is the line of the transcript.
fn update(id: &str, at: i64, event: Event, replay: &mut Replay) -> Option<Value> {
    let line = event.line;
    replay.updates(event).map(|update| to_wire::session_update(id, line, at, &update))
}

pub(super) fn within(time: Duration) -> Budget {
    Budget::within(time, &CancellationToken::new())
}

fn provider<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Provider, D::Error> {
    let name = String::deserialize(deserializer)?;
    Provider::parse(&name).ok_or_else(|| {
        let known = Provider::ALL.map(Provider::as_str).join(", ");
        let name = openagents_sessions::prune::head(&name, 100);
        serde::de::Error::custom(format!("no such agent: {name} (known: {known})"))
    })
}

pub(super) fn some_provider<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Provider>, D::Error> {
    provider(deserializer).map(Some)
}

// Searching other agents' transcripts, through the index or in whole logs.

/// Maximum number of transcripts that a search returns.
const FOUND: usize = 50;
/// Time limit for searching whole logs.
const LOGS_TIME: Duration = Duration::from_secs(10);
/// Maximum number of lines that a search of whole logs finds, in all transcripts together.
const LOG_LINES: usize = 500;
/// Characters of text around a match.
const SNIPPET: usize = 160;

/// Params of `_openagents/sessions/search`.
#[derive(Debug, Deserialize)]
pub(crate) struct SessionSearch {
    query: String,
    #[serde(default)]
    limit: Option<usize>,
    /// Transcripts of this workspace rank higher.
    #[serde(default)]
    cwd: Option<PathBuf>,
    /// Search whole logs instead of the index. This also finds tool output, parts of words and text that is not
    /// indexed.
    #[serde(default)]
    pub(super) logs: bool,
}

/// Returns the transcripts that match a typed text, best first, each with a matching line. `find` queries the index.
/// Blocks.
pub(super) fn search(
    history: &History,
    rows: &Row,
    search: &SessionSearch,
    progress: IndexProgress,
    find: impl FnOnce(&str, usize, i64, Option<&Path>) -> Result<IndexedMatches, Fault>,
) -> Result<Value, Fault> {
    let limit = search.limit.unwrap_or(FOUND).min(FOUND);
    let now = jiff::Timestamp::now().as_millisecond();
    let query = openagents_sessions::prune::head(&search.query, QUERY);
    let found = find(query, limit, now, search.cwd.as_deref())?;
    let named = labelled(history, rows, query, &found);
    let named = named.iter().map(|session| {
        let mut shown = rows.json(session);
        (shown["line"], shown["kind"], shown["matches"]) = (0.into(), "title".into(), 1.into());
        shown
    });
    let by_words = found.passages.iter().map(|passage| {
        let mut shown = rows.json(&passage.session);
        shown["line"] = passage.line.into();
        shown["kind"] = passage.kind.into();
        shown["matches"] = passage.matches.into();
        if let Some(snippet) = &passage.snippet {
            shown["snippet"] = snippet.as_str().into();
        }
        shown
    });
    let sessions: Vec<Value> = named.chain(by_words).take(limit).collect();
    let is_text = !query.trim().is_empty();
    Ok(json!({
        "sessions": sessions,
        "more": found.truncated,
        "indexing": {"done": progress.done, "total": progress.total},
        "notSearched": {"sessionEnds": found.not_indexed.session_ends, "longMessages": found.not_indexed.passage_ends, "toolOutput": is_text},
    }))
}

/// Returns the transcripts whose label matches a typed text and that are not in `found`. The index has only the agents'
/// own titles.
fn labelled(history: &History, rows: &Row, query: &str, found: &IndexedMatches) -> Vec<Transcript> {
    let Some(text) = SearchText::new(query) else { return Vec::new() };
    let budget = within(LIST_TIME);
    let is_found = |(provider, id): &SessionKey| {
        found.passages.iter().any(|it| it.session.provider == *provider && it.session.id == *id)
    };
    let labels = rows.labels.iter().filter(|(key, label)| {
        label.title.as_deref().is_some_and(|title| text.fit(title).is_some()) && !is_found(key)
    });
    let sessions =
        labels.take(FOUND).filter_map(|((provider, id), _)| history.find(id, Some(*provider), &budget));
    let mut sessions: Vec<Transcript> = sessions.collect();
    sessions.sort_by_key(|session| std::cmp::Reverse(session.updated_at));
    sessions
}

/// Returns the transcripts whose logs contain a typed text, those of the workspace first, then the newest. Blocks.
pub(super) fn search_logs(history: &History, rows: &Row, search: &SessionSearch) -> Result<Value, Fault> {
    let limit = search.limit.unwrap_or(FOUND).min(FOUND);
    // A snapshot, so that the rows of the results are the ones that were searched.
    let history = history.snapshot();
    let query = SearchQuery {
        pattern: openagents_sessions::prune::head(&search.query, QUERY).to_owned(),
        kind: PatternKind::Typed,
        whole_logs: true,
        workspace: search.cwd.clone(),
        max_matches: LOG_LINES,
        line_chars: SNIPPET,
        file_bytes: u64::MAX,
        total_bytes: u64::MAX,
        ..SearchQuery::default()
    };
    let found = history
        .search(&query, &within(LIST_TIME), &within(LOGS_TIME), &())
        .map_err(|reason| Fault::invalid_params(format!("The query cannot be searched for: {reason}.")))?;
    let listed = history.list(&Query::default(), &within(LIST_TIME)).rows;
    let mut sessions: Vec<(SessionKey, Value)> = Vec::new();
    for hit in &found.matches {
        let key: SessionKey = (hit.provider, hit.session_id.clone());
        if let Some((_, shown)) = sessions.iter_mut().find(|(known, _)| *known == key) {
            shown["matches"] = (shown["matches"].as_u64().unwrap_or_default() + 1).into();
        } else if let Some(row) = listed.iter().find(|row| row.provider == key.0 && row.id == key.1) {
            let mut shown = rows.json(row);
            shown["line"] = hit.line_number.into();
            shown["matches"] = 1.into();
            shown["snippet"] = hit.line.as_str().into();
            sessions.push((key, shown));
        }
    }
    let more = found.truncated || sessions.len() > limit;
    Ok(json!({
        "sessions": sessions.into_iter().take(limit).map(|(_, shown)| shown).collect::<Vec<_>>(),
        "more": more,
        "indexing": {"done": 0, "total": 0},
        "notSearched": {"sessionEnds": 0, "longMessages": 0, "toolOutput": false},
        "timedOut": found.timed_out,
    }))
}
