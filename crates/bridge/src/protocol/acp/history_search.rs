//! Searching other agents' transcripts, through the index or in whole logs.

use super::history::{LIST_TIME, QUERY, Row, within};
use crate::base::error::Fault;
use openagents_transcripts::{
    history::{History, PatternKind, Query, SearchQuery, SearchText, SessionKey, Transcript},
    history_index::{IndexProgress, IndexedMatches},
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    path::{Path, PathBuf},
    time::Duration,
};

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
