//! Listing, reading and searching other agents' transcripts.

use super::to_wire;
use openagents_connection::fault::Fault;
use openagents_core::{
    CancellationToken,
    agent::{self, Speaker},
    budget::Budget,
    git::real_path,
};
use openagents_sessions::store::TranscriptLabel;
use openagents_transcripts::{
    history::{
        Event, EventKind, History, OpenProcess, Part, PatternKind, Provider, Query, SearchQuery, SearchText,
        SessionKey, Span, Transcript,
    },
    history_index::{IndexProgress, IndexedMatches},
    replay::Replay,
};
use openagents_wire::{
    Excerpt, FindLines, HistoryFilter, HistoryPage, KeptCopy, LineText, ListHistory, NotSearched, PastLines,
    PastPart, PastSession, Progress, ReadHistory, ReadLine, SearchHit, SearchResults, SearchSessions,
    SessionName,
};
use serde_json::Value;
use std::{collections::HashMap, ops::ControlFlow, path::Path, time::Duration};

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
/// Maximum bytes read from each end of a transcript for its text, and of one line.
const EXCERPT: u64 = 4 << 20;
const EXCERPT_LINE: usize = 1 << 20;
/// Maximum number of transcripts that a search returns.
const FOUND: usize = 50;
/// Time limit for searching whole logs.
const LOGS_TIME: Duration = Duration::from_secs(10);
/// Maximum number of lines that a search of whole logs finds, in all transcripts together.
const LOG_LINES: usize = 500;
/// Characters of text around a match.
const SNIPPET: usize = 160;

/// Builds the list rows of transcripts for one client.
pub(crate) struct Row {
    pub(super) labels: HashMap<SessionKey, TranscriptLabel>,
    /// The sessions here whose agents keep transcripts.
    pub(super) hosted: HashMap<SessionKey, String>,
    /// Whether the client runs on this machine; only then rows include the path of the log.
    pub(super) is_here: bool,
}

/// Returns a page of the list, newest first; the first page also has all pinned transcripts. Blocks.
pub(super) fn list(history: &History, shown: &Row, page: &ListHistory) -> Result<HistoryPage, Fault> {
    let HistoryFilter { provider, cwd, branch, since, archived, gone } = &page.filter;
    let provider = provider.as_deref().map(self::provider).transpose()?;
    let query = Query {
        read_time: Some(LIST_READ_TIME),
        provider,
        workspace: cwd.clone(),
        since: *since,
        prompts: *gone,
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
            && (!gone || row.gone.is_some())
    });
    let total = listing.rows.len();
    let incomplete = listing.rows.iter().filter(|row| row.why_incomplete().is_some()).count();
    let mut rows = listing.rows.iter().peekable();
    let is_first = page.after.is_none();
    if let Some(after) = &page.after {
        // If the transcript is gone or has moved, the list starts over.
        let known =
            listing.rows.iter().position(|row| row.provider.as_str() == after.provider && row.id == after.id);
        if let Some(last) = known {
            rows.nth(last);
        }
    }
    let limit = page.limit.unwrap_or(ROWS).min(ROWS);
    let mut sessions: Vec<PastSession> = rows.by_ref().take(limit).map(|row| shown.row(row)).collect();
    let more = rows.peek().is_some();
    if is_first {
        sessions.extend(rows.filter(|row| shown.label(row).marks.pinned).map(|row| shown.row(row)));
    }
    Ok(HistoryPage { sessions, more, total, unread: listing.unread, incomplete })
}

impl Row {
    fn label(&self, row: &Transcript) -> TranscriptLabel {
        self.labels.get(&(row.provider, row.id.clone())).cloned().unwrap_or_default()
    }

    pub(super) fn row(&self, row: &Transcript) -> PastSession {
        let TranscriptLabel { title, marks } = self.label(row);
        PastSession {
            provider: row.provider.as_str().to_owned(),
            agent: row.provider.display_name().to_owned(),
            id: row.id.clone(),
            title: title.or_else(|| row.title.clone()),
            cwd: row.folder().map(shown_path),
            needs_brief: why_not_continued(row).is_some(),
            moved_from: row.moved_to.as_ref().and(row.cwd.as_deref()).map(shown_path),
            folder_missing: row.folder().is_some_and(|folder| folder.is_absolute() && !folder.exists()),
            branch: row.branch.clone(),
            model: row.model.clone(),
            created_at: row.created_at,
            updated_at: row.updated_at,
            // Its agent no longer finds a session without a log.
            resume: row.gone.is_none().then(|| row.provider.resume_command(&row.id)).flatten(),
            hosted_by: self.hosted.get(&(row.provider, row.id.clone())).cloned(),
            file: self.is_here.then(|| row.file_path.to_string_lossy().into_owned()),
            incomplete: row.why_incomplete(),
            continues: row.continues.clone(),
            kept: row
                .gone
                .map(|gone| KeptCopy { gone_since: gone.since, reason: gone.reason.as_str().to_owned() }),
            pinned: marks.pinned,
            archived: marks.archived || row.archived,
        }
    }
}

/// Returns the lines of a transcript that contain a text. Blocks.
pub(super) fn find_lines(history: &History, wanted: &FindLines) -> Result<PastLines, Fault> {
    let budget = within(READ_TIME);
    let found = find(history, &wanted.session, &budget)?;
    let query = openagents_core::text::prefix(&wanted.query, QUERY);
    if query.is_empty() {
        return Err(Fault::invalid_params("The query is empty."));
    }
    let limit = wanted.limit.unwrap_or(LINES).min(LINES);
    let read = history.find_lines(&found, query, limit, &budget);
    let (lines, more) = read.map_err(|error| unreadable(&found, &error))?;
    Ok(PastLines { lines, more })
}

/// Returns a part of a transcript as updates. Blocks.
pub(super) fn read_part(history: &History, rows: &Row, wanted: &ReadHistory) -> Result<PastPart, Fault> {
    let budget = within(READ_TIME);
    let ReadHistory { session, before, from, line } = wanted;
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
        let (child, undone) = (event.action.child_session.clone(), event.undone);
        let mut shown = update(&found.id, at, event, &mut replay);
        if let (Some(shown), Some(child)) = (&mut shown, child) {
            shown["update"]["_meta"]["openagents"]["childSessionId"] = child.into();
        }
        if let Some(shown) = shown.as_mut().filter(|_| undone) {
            shown["_meta"]["openagents"]["undone"] = true.into();
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
    let (from, to, size, omitted) = (read.from, read.to, read.size, read.omitted);
    let replaced_at = history.replaced_at(&found);
    Ok(PastPart { session: rows.row(&found), updates, from, to, size, omitted, replaced_at })
}

/// Returns a raw line of a transcript, for the inspector. Blocks.
pub(super) fn raw_line(history: &History, wanted: &ReadLine) -> Result<LineText, Fault> {
    let budget = within(READ_TIME);
    let found = find(history, &wanted.session, &budget)?;
    let read = history.line(&found, wanted.line, &budget);
    let text = read.map_err(|error| unreadable(&found, &error))?.ok_or_else(|| {
        Fault::not_found(format!("Line {} is no longer in {}.", wanted.line, found.file_path.display()))
    })?;
    Ok(LineText { text })
}

pub(super) fn find(history: &History, session: &SessionName, budget: &Budget) -> Result<Transcript, Fault> {
    let provider = provider(&session.provider)?;
    history.find(&session.id, Some(provider), budget).ok_or_else(|| {
        let id = openagents_core::text::prefix(&session.id, 128);
        Fault::not_found(format!("{} has no session {id} any more.", provider.display_name()))
    })
}

/// Returns a session of an agent that ran in a folder, to continue it or a copy of it there; `None` if the history does
/// not have it. Blocks.
pub(super) fn find_own(
    history: &History,
    rows: &Row,
    (agent, cwd, id): (&str, &Path, &str),
    is_copy: bool,
) -> Result<Option<Transcript>, Fault> {
    let Some(provider) = Provider::parse(agent) else { return Ok(None) };
    let row = history.find(id, Some(provider), &within(LIST_TIME));
    let is_it = |row: &Transcript| {
        row.id == id && !row.subagent && row.folder().is_some_and(|own| real_path(own) == real_path(cwd))
    };
    let Some(row) = row.filter(is_it) else { return Ok(None) };
    if let Some(why) = why_not_continued(&row) {
        return Err(Fault::invalid_params(why));
    }
    // A session that is hosted here is open here.
    let is_hosted = rows.hosted.contains_key(&(provider, row.id.clone()));
    if !is_copy && let Some(open) = history.open_process(&row).filter(|_| !is_hosted) {
        return Err(Fault::open_elsewhere(open_elsewhere(provider.display_name(), open)));
    }
    Ok(Some(row))
}

/// Returns why the agent of a session cannot continue it here, whatever it says that it can do.
fn why_not_continued(row: &Transcript) -> Option<String> {
    let agent = row.provider.display_name();
    if row.is_prompts_only() {
        return Some(format!("{agent} no longer has this session. Continue it with a brief instead."));
    }
    // With `session/load`, Gemini CLI empties its log and then deletes it.
    if row.provider == Provider::Gemini {
        let command = row.provider.resume_command(&row.id).unwrap_or_default();
        return Some(format!("{agent} continues a session only in a terminal: run `{command}` there."));
    }
    // opencode 1.18.33 lists the session and fails at the prompt, because its own folder is missing.
    let follows = matches!(row.provider, Provider::ClaudeCode | Provider::Codex);
    let old = row.cwd.as_deref().filter(|_| row.moved_to.is_some() && !follows)?;
    let old = shown_path(old);
    Some(format!(
        "{agent} finds this session only in its old folder, {old}. Continue it with a brief instead."
    ))
}

fn shown_path(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// With two writers, the turns of a session become branches of it.
fn open_elsewhere(agent: &str, OpenProcess { pid, since }: OpenProcess) -> String {
    let since = since.and_then(|since| jiff::Timestamp::from_millisecond(since).ok()).map(|since| {
        let since = since.to_zoned(jiff::tz::TimeZone::system());
        format!(" since {}", since.strftime("%-d %b, %H:%M"))
    });
    let since = since.unwrap_or_default();
    format!("This session is open in {agent}{since} (process {pid}). Exit it there, or continue a copy.")
}

pub(super) fn unreadable(session: &Transcript, error: &std::io::Error) -> Fault {
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

/// Reads the name of an agent.
pub(super) fn provider(name: &str) -> Result<Provider, Fault> {
    Provider::parse(name).ok_or_else(|| {
        let known = Provider::ALL.map(Provider::as_str).join(", ");
        let name = openagents_core::text::prefix(name, 100);
        Fault::invalid_params(format!("Unknown agent {name}. Known agents: {known}."))
    })
}

/// Returns the conversation of a transcript of this folder as text. Blocks.
pub(super) fn excerpt(history: &History, session: &SessionName, cwd: &Path) -> Result<Excerpt, Fault> {
    let budget = within(READ_TIME);
    let transcript = find(history, session, &budget)?;
    if transcript.folder() != Some(cwd) {
        return Err(Fault::invalid_params("That is a session of another folder."));
    }
    let span = Span {
        from_line: 1,
        to_line: u64::MAX,
        bytes: EXCERPT,
        tail_bytes: EXCERPT,
        line_bytes: EXCERPT_LINE,
    };
    let mut messages: Vec<(Speaker, String)> = Vec::new();
    let read = history.read_transcript(&transcript, span, &budget, &mut |event| {
        if !event.undone {
            let speaker = match &event.kind {
                EventKind::Prompt => Some(Speaker::User),
                EventKind::Assistant => Some(Speaker::Agent),
                EventKind::ToolCall { .. } => Some(Speaker::Call),
                _ => None,
            };
            let text = match &event.kind {
                EventKind::ToolCall { name } => format!("{name} {}", event.text),
                _ => event.text,
            };
            messages.extend(speaker.map(|speaker| (speaker, text)));
        }
        ControlFlow::Continue(())
    });
    read.map_err(|error| unreadable(&transcript, &error))?;
    let text = agent::excerpt(messages.iter().map(|(speaker, text)| (*speaker, text.as_str())));
    Ok(Excerpt { text: text.unwrap_or_default() })
}

/// Returns the transcripts that match a typed text, best first, each with a matching line. `find` queries the index.
/// Blocks.
pub(super) fn search(
    history: &History,
    rows: &Row,
    search: &SearchSessions,
    progress: IndexProgress,
    find: impl FnOnce(&str, usize, i64, Option<&Path>) -> Result<IndexedMatches, Fault>,
) -> Result<SearchResults, Fault> {
    let limit = search.limit.unwrap_or(FOUND).min(FOUND);
    let now = jiff::Timestamp::now().as_millisecond();
    let query = openagents_core::text::prefix(&search.query, QUERY);
    let found = find(query, limit, now, search.cwd.as_deref())?;
    let named = labelled(history, rows, query, &found);
    let named = named.iter().map(|session| SearchHit {
        session: rows.row(session),
        kind: Some("title".to_owned()),
        matches: 1,
        ..SearchHit::default()
    });
    let by_words = found.passages.iter().map(|passage| SearchHit {
        session: rows.row(&passage.session),
        line: passage.line,
        kind: Some(passage.kind.to_owned()),
        matches: passage.matches,
        snippet: passage.snippet.clone(),
    });
    Ok(SearchResults {
        sessions: named.chain(by_words).take(limit).collect(),
        more: found.truncated,
        indexing: Progress { done: progress.done, total: progress.total },
        not_searched: NotSearched {
            session_ends: found.not_indexed.session_ends,
            long_messages: found.not_indexed.passage_ends,
            tool_output: !query.trim().is_empty(),
        },
        timed_out: false,
    })
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
pub(super) fn search_logs(
    history: &History,
    rows: &Row,
    search: &SearchSessions,
) -> Result<SearchResults, Fault> {
    let limit = search.limit.unwrap_or(FOUND).min(FOUND);
    // A snapshot, so that the rows of the results are the ones that were searched.
    let history = history.snapshot();
    let query = SearchQuery {
        pattern: openagents_core::text::prefix(&search.query, QUERY).to_owned(),
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
    let listed = history.list(&Query { prompts: true, ..Query::default() }, &within(LIST_TIME)).rows;
    let mut sessions: Vec<SearchHit> = Vec::new();
    for hit in &found.matches {
        let is_known = |known: &&mut SearchHit| {
            known.session.provider == hit.provider.as_str() && known.session.id == hit.session_id
        };
        if let Some(known) = sessions.iter_mut().find(is_known) {
            known.matches += 1;
        } else if let Some(row) =
            listed.iter().find(|row| row.provider == hit.provider && row.id == hit.session_id)
        {
            let (line, snippet) = (hit.line_number, Some(hit.line.clone()));
            sessions.push(SearchHit { session: rows.row(row), line, kind: None, matches: 1, snippet });
        }
    }
    let more = found.truncated || sessions.len() > limit;
    sessions.truncate(limit);
    Ok(SearchResults { sessions, more, timed_out: found.timed_out, ..SearchResults::default() })
}

#[cfg(test)]
mod tests {
    use super::provider;

    #[test]
    fn unknown_agent_is_refused_with_known_ones() {
        assert_eq!(provider("codex").unwrap().as_str(), "codex");
        let fault = provider("nobody").unwrap_err();
        assert!(
            fault.code == -32602 && fault.message.contains("Unknown agent nobody. Known agents: "),
            "{fault}"
        );
    }
}
