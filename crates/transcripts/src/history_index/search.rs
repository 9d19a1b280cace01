//! Finds sessions by text as it was typed.

use super::{
    index::{HistoryIndex, NotIndexed},
    passages::{self, CONTINUES, Kind, PassageText, appends},
    texts::{self, Snippet, Text},
};
use crate::history::{
    History, IndexedLines, IndexedState, IndexedText, Provider, QueryWord, SearchText, SessionKey, TextFit,
    Transcript, WordIndex,
};
use openagents_core::{CancellationToken, budget::Budget};
use rusqlite::{Connection, OptionalExtension as _, Row};
use std::{
    collections::{BTreeSet, HashMap},
    path::Path,
    time::Duration,
};

/// Maximum number of passages with all words that are checked: the newest ones.
const PASSAGES: usize = 2_000;
/// Maximum number of passages that are checked for each part of a text that no passage contains as a whole.
const PASSAGES_PER_PART: usize = 20_000;
/// Time for reading lines of logs; later results have no snippet.
const SNIPPETS_TIME: Duration = time(30);
/// Once some sessions are found, time for those that contain the text only as part of an identifier.
const IDENTIFIERS_TIME: Duration = time(10);
/// The same, if a line that contains all words may still lack the text and has to be read.
const CHECKS_TIME: Duration = time(150);
/// Time for finding sessions that contain the text in one piece, which come first.
const WHOLE_TIME: Duration = time(5);
/// Number of sessions whose lines are read in that time, for each one that is wanted, and number of lines per session.
const READ: usize = 2;
const LINES: usize = 8;
/// Half-life of a session's weight, in milliseconds.
const HALF_LIFE_MS: f64 = 30.0 * 24.0 * 3_600_000.0;

/// Returns a limit in milliseconds. Tests have a minute: what they find must not depend on how busy the computer is.
const fn time(milliseconds: u64) -> Duration {
    Duration::from_millis(if cfg!(test) { 60_000 } else { milliseconds })
}

/// The passages that match, those of the newest sessions first.
pub(super) const FOUND: &str = "SELECT rowid FROM words WHERE words MATCH ?1 ORDER BY rowid DESC LIMIT ?2";

/// The sessions with a typed text, best first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct IndexedMatches {
    /// Each session once, with its best passage.
    pub passages: Vec<Passage>,
    /// There may be more.
    pub truncated: bool,
    /// The parts that were not searched.
    pub not_indexed: NotIndexed,
}

/// A line of a session that contains the text.
#[derive(Debug, Clone, PartialEq)]
pub struct Passage {
    /// The session, as it was when it was indexed.
    pub session: Transcript,
    /// From 1; 0 for the title.
    pub line: u64,
    /// The kind of the line: `title`, `prompt`, `answer`, `call`, or `file` if it is a file that a call touched.
    pub kind: &'static str,
    /// The text around the match, or the file and whether it was edited or read; `None` for a title.
    pub snippet: Option<String>,
    /// Number of passages of the session that contain the words.
    pub matches: u64,
}

struct SearchParams<'a> {
    text: SearchText,
    limit: usize,
    now: i64,
    near: Option<&'a Path>,
}

/// The words to which the beginning of a word expands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Beginnings {
    /// The most frequent ones, so that a keystroke does not wait for the others.
    Frequent,
    All,
}

impl HistoryIndex {
    /// Returns the sessions with a passage that contains a typed text: all of its words in any order, with their
    /// punctuation; those that contain it in one piece come first. If no passage contains it, the sessions that contain
    /// all of its words are returned. Sessions of the workspace `near` rank higher, and those that `history` does not
    /// contain are left out. Blocks.
    pub fn search(
        &self,
        query: &str,
        limit: usize,
        now: i64,
        near: Option<&Path>,
        history: &History,
    ) -> rusqlite::Result<IndexedMatches> {
        let Some(text) = SearchText::new(query) else { return Ok(IndexedMatches::default()) };
        let wanted = SearchParams { text, limit, now, near };
        let found = (|| {
            let before = self.version()?;
            let mut found = self.search_text(&wanted, history)?;
            let after = self.version()?;
            // Data stored between its queries may match one of them and not the one before.
            if after != before {
                found = self.search_text(&wanted, history)?;
            }
            found.not_indexed = self.not_indexed(after)?;
            Ok(found)
        })();
        found.inspect_err(|error| _ = self.renew_if_damaged(error))
    }

    /// Returns a number that changes with the stored data.
    fn version(&self) -> rusqlite::Result<i64> {
        self.reader.lock().pragma_query_value(None, "data_version", |row| row.get(0))
    }

    fn search_text(&self, wanted: &SearchParams<'_>, history: &History) -> rusqlite::Result<IndexedMatches> {
        let text = &wanted.text;
        let mut found = Checked::default();
        if let Some(identifiers) = text.identifiers() {
            self.check(
                self.candidates(identifiers, PASSAGES)?,
                (text, CHECKS_TIME),
                wanted,
                history,
                &mut found,
            )?;
        }
        if found.passages.len() < wanted.limit {
            let time = if found.passages.is_empty() { CHECKS_TIME } else { IDENTIFIERS_TIME };
            self.check(self.candidates(text.words(), PASSAGES)?, (text, time), wanted, history, &mut found)?;
        }
        let parts: Vec<SearchText> = text.parts().filter_map(SearchText::new).collect();
        if let Some((first, rest)) = parts.split_first().filter(|_| found.passages.is_empty()) {
            let mut candidates = self.candidates(first.words(), PASSAGES_PER_PART)?;
            for part in rest {
                let others = self.candidates(part.words(), PASSAGES_PER_PART)?;
                candidates.sessions.retain(|key, _| others.sessions.contains_key(key));
                candidates.is_cut |= others.is_cut;
            }
            self.check(candidates, (first, CHECKS_TIME), wanted, history, &mut found)?;
        }
        let Checked { mut passages, is_cut } = found;
        passages.sort_by_key(|(fit, ..)| *fit);
        let truncated = is_cut || passages.len() > wanted.limit;
        passages.truncate(wanted.limit);
        let passages = passages.into_iter().map(|(.., passage)| passage).collect();
        Ok(IndexedMatches { passages, truncated, ..IndexedMatches::default() })
    }

    /// Returns what this version of the index does not contain. The result is cached: counting takes longer than most
    /// searches.
    fn not_indexed(&self, version: i64) -> rusqlite::Result<NotIndexed> {
        let reader = self.reader.lock();
        let mut known = self.not_indexed.lock();
        if let Some((_, counted)) = known.filter(|(counted_in, _)| *counted_in == version) {
            return Ok(counted);
        }
        let ends = "SELECT coalesce(sum(cut), 0) FROM sessions";
        let passages = "SELECT count(*) FROM words WHERE words MATCH ?1";
        let counted = NotIndexed {
            session_ends: reader.query_row(ends, [], |row| row.get(0))?,
            passage_ends: reader.query_row(passages, [format!("\"{CONTINUES}\"")], |row| row.get(0))?,
        };
        *known = Some((version, counted));
        Ok(counted)
    }

    fn candidates(&self, words: &[QueryWord], limit: usize) -> rusqlite::Result<Candidates> {
        let reader = self.reader.lock();
        let mut found = Candidates::default();
        let Some(expression) = expression(&reader, words, Beginnings::Frequent)? else { return Ok(found) };
        let mut statement = reader.prepare_cached(FOUND)?;
        let mut rows = statement.query((expression, limit))?;
        let mut count = 0;
        while let Some(row) = rows.next()? {
            count += 1;
            let (session, line, kind) = passages::parts(row.get(0)?);
            found.sessions.entry(session).or_default().0.push((line, kind));
        }
        found.is_cut = count == limit;
        Ok(found)
    }

    /// Ranks sessions, reads the lines that are shown, and adds those that were not found before. Leaves out those
    /// whose lines contain the words but not the text.
    fn check(
        &self,
        candidates: Candidates,
        (text, time): (&SearchText, Duration),
        wanted: &SearchParams<'_>,
        history: &History,
        found: &mut Checked,
    ) -> rusqlite::Result<()> {
        let (has_parts, is_sure) = (text.parts().next().is_some(), text.is_sure());
        found.is_cut = candidates.is_cut;
        let within = |time| Budget::within(time, &CancellationToken::new());
        let (budget, for_whole) = (within(if is_sure { SNIPPETS_TIME } else { time }), within(WHOLE_TIME));
        let most = if has_parts { wanted.limit.saturating_mul(READ) } else { wanted.limit };
        for (key, lines) in self.rank(candidates, wanted)? {
            let count = found.passages.len();
            let is_enough = count >= most || count >= wanted.limit && for_whole.spent();
            if is_enough || !is_sure && budget.spent() {
                found.is_cut = true;
                break;
            }
            if found.passages.iter().any(|(_, other, _)| *other == key) {
                continue;
            }
            let Some(mut session) = self.session(key)? else { continue };
            history.complete(&mut session);
            if !history.holds(&session) {
                continue;
            }
            let mut best: Option<(TextFit, i64, Passage)> = None;
            for (line, kind) in lines.best_first().take(LINES) {
                let read = self.snippet((key, line), &session, text, history, &budget)?;
                let (fit, kind, snippet) = match read {
                    Some(Snippet { fit, kind, text }) => (fit, kind, text),
                    None if is_sure => (TextFit::Terms, kind.name(), None),
                    None => continue,
                };
                if best.as_ref().is_none_or(|(other, ..)| fit < *other) {
                    let matches = lines.0.len() as u64;
                    best =
                        Some((fit, key, Passage { session: session.clone(), line, kind, snippet, matches }));
                }
                if fit <= TextFit::Whole || is_sure || for_whole.spent() {
                    break;
                }
            }
            found.passages.extend(best);
        }
        Ok(())
    }

    /// Returns the sessions by their keys, best first.
    fn rank(&self, candidates: Candidates, wanted: &SearchParams<'_>) -> rusqlite::Result<Vec<(i64, Lines)>> {
        let near = wanted.near.map(Path::to_string_lossy);
        let reader = self.reader.lock();
        let state = "SELECT updated_at, cwd FROM sessions INDEXED BY states WHERE key = ?1";
        let mut described = reader.prepare_cached(state)?;
        let mut ranked = Vec::new();
        for (key, lines) in candidates.sessions {
            let describe = |row: &Row<'_>| {
                let is_near = near
                    .as_deref()
                    .is_some_and(|near| row.get_ref(1).is_ok_and(|cwd| cwd.as_str() == Ok(near)));
                Ok((row.get::<_, i64>(0)?, is_near))
            };
            // A passage without its session is being rewritten.
            let Some((updated_at, is_near)) = described.query_row([key], describe).optional()? else {
                continue;
            };
            let age = (wanted.now - updated_at).max(0) as f64;
            let near = if is_near { 2.0 } else { 1.0 };
            let score =
                lines.weight() * near * (0.25 + 0.75 * (-age / HALF_LIFE_MS * std::f64::consts::LN_2).exp());
            ranked.push((score, updated_at, key, lines));
        }
        ranked.sort_by(|(a, older, ..), (b, newer, ..)| b.total_cmp(a).then_with(|| newer.cmp(older)));
        Ok(ranked.into_iter().map(|(.., key, lines)| (key, lines)).collect())
    }

    fn session(&self, key: i64) -> rusqlite::Result<Option<Transcript>> {
        let reader = self.reader.lock();
        let mut row = reader.prepare_cached("SELECT row_json FROM sessions WHERE key = ?1")?;
        let json: Option<String> = row.query_row([key], |row| row.get(0)).optional()?;
        Ok(json.and_then(|json| serde_json::from_str(&json).ok()))
    }

    /// Returns the text of a line around a match; `None` if it does not contain the text, or was not read in time.
    fn snippet(
        &self,
        (key, line): (i64, u64),
        session: &Transcript,
        text: &SearchText,
        history: &History,
        budget: &Budget,
    ) -> rusqlite::Result<Option<Snippet>> {
        if line == 0 {
            let fit = session.title.as_deref().and_then(|title| text.fit(title));
            return Ok(fit.map(|fit| Snippet { fit, kind: Kind::Title.name(), text: None }));
        }
        if budget.spent() {
            return Ok(None);
        }
        let found = texts::find(&self.reader.lock(), key, line)?;
        let passages = found.map(|found| found.passages(history, session, line, budget)).unwrap_or_default();
        Ok(texts::snippet(&passages, text, session.cwd.as_deref()))
    }
}

/// The matches found so far.
#[derive(Default)]
struct Checked {
    /// With the keys of their sessions.
    passages: Vec<(TextFit, i64, Passage)>,
    /// There may be more.
    is_cut: bool,
}

#[derive(Default)]
struct Candidates {
    sessions: HashMap<i64, Lines>,
    is_cut: bool,
}

/// Lines with their kinds, the last one of the log first.
#[derive(Default)]
struct Lines(Vec<(u64, Kind)>);

impl Lines {
    fn best_first(&self) -> impl Iterator<Item = (u64, Kind)> {
        let mut lines = self.0.clone();
        lines.sort_by(|(_, a), (_, b)| b.weight().total_cmp(&a.weight()));
        lines.into_iter()
    }

    fn weight(&self) -> f64 {
        let best = self.0.iter().map(|(_, kind)| kind.weight()).fold(0.0, f64::max);
        // More matches count a little more.
        best * (1.0 + (self.0.len() as f64).ln() / 4.0)
    }
}

/// Returns words as an FTS5 expression: each one quoted, with the words to which a beginning expands; `None` without
/// words.
pub(super) fn expression(
    reader: &Connection,
    words: &[QueryWord],
    beginnings: Beginnings,
) -> rusqlite::Result<Option<String>> {
    let quoted = |word: &String| format!("\"{}\"", word.replace('"', ""));
    let mut all = Vec::new();
    for word in words {
        let mut forms = Vec::new();
        for form in &word.forms {
            let Some((last, before)) = form.split_last() else { continue };
            let mut parts: Vec<String> = before.iter().map(quoted).collect();
            parts.push(if word.is_beginning { begun(reader, last, beginnings)? } else { quoted(last) });
            forms.push(parts.join(" AND "));
        }
        all.push(format!("({})", forms.join(") OR (")));
    }
    Ok((!all.is_empty()).then(|| format!("({})", all.join(") AND ("))))
}

fn begun(reader: &Connection, word: &str, beginnings: Beginnings) -> rusqlite::Result<String> {
    let quoted = format!("\"{word}\"");
    // Few words begin with as much of an id as a user types.
    if !texts::can_expand(word) {
        return Ok(format!("{quoted}*"));
    }
    let words = texts::beginning_with(reader, word)?;
    if beginnings == Beginnings::All && words.is_cut {
        return Ok(format!("{quoted}*"));
    }
    let words = words.words.iter().map(|word| format!(" OR \"{word}\""));
    Ok(format!("({quoted}{})", words.collect::<String>()))
}

/// Maximum number of lines for a search in the logs: the newest ones with all words.
const NAMED_LINES: usize = 20_000;

impl WordIndex for HistoryIndex {
    fn lines(&self, words: &[QueryWord]) -> Option<IndexedLines> {
        self.read_lines(words).inspect_err(|error| self.failed(error)).ok()
    }

    fn text(&self, session: &SessionKey, line: u64) -> Option<IndexedText> {
        let text = self.read_text(session, line).inspect_err(|error| self.failed(error)).ok()??;
        Some(match text {
            Text::Kept(passages) => IndexedText::Kept(passages.into_iter().map(PassageText::event).collect()),
            Text::Logged(first, offset) => IndexedText::Logged { first, offset },
        })
    }
}

impl HistoryIndex {
    fn failed(&self, error: &rusqlite::Error) {
        tracing::warn!(%error, "the index could not be searched");
        self.renew_if_damaged(error);
    }

    fn read_text(&self, (provider, id): &SessionKey, line: u64) -> rusqlite::Result<Option<Text>> {
        let reader = self.reader.lock();
        let mut session =
            reader.prepare_cached("SELECT key FROM sessions WHERE provider = ?1 AND id = ?2")?;
        let key = session.query_row([provider.as_str(), id], |row| row.get(0)).optional()?;
        key.map_or(Ok(None), |key| texts::find(&reader, key, line))
    }

    fn read_lines(&self, words: &[QueryWord]) -> rusqlite::Result<IndexedLines> {
        let reader = self.reader.lock();
        let Some(wanted) = expression(&reader, words, Beginnings::All)? else {
            return Ok(IndexedLines::default());
        };
        let mut answer = IndexedLines::default();
        let mut by_key: HashMap<i64, SessionKey> = HashMap::new();
        let mut sessions =
            reader.prepare_cached("SELECT key, provider, id, size, updated_at, cut, upto FROM sessions")?;
        let mut rows = sessions.query([])?;
        while let Some(row) = rows.next()? {
            let Some(provider) = Provider::parse(row.get_ref(1)?.as_str()?) else { continue };
            let key: SessionKey = (provider, row.get(2)?);
            let upto = Some(row.get(6)?).filter(|upto| appends(provider) && *upto > 0);
            let state = IndexedState { size: row.get(3)?, updated_at: row.get(4)?, cut: row.get(5)?, upto };
            by_key.insert(row.get(0)?, key.clone());
            answer.sessions.insert(key, state);
        }
        let mut statement = reader.prepare_cached(FOUND)?;
        let mut found =
            |wanted: &str, lines: &mut HashMap<SessionKey, BTreeSet<u64>>| -> rusqlite::Result<bool> {
                let mut count = 0;
                let mut rows = statement.query((wanted, NAMED_LINES))?;
                while let Some(row) = rows.next()? {
                    count += 1;
                    let (session, line, _) = passages::parts(row.get(0)?);
                    if let Some(key) = by_key.get(&session) {
                        lines.entry(key.clone()).or_default().insert(line);
                    }
                }
                Ok(count == NAMED_LINES)
            };
        answer.truncated = found(&wanted, &mut answer.lines)?;
        found(&format!("\"{CONTINUES}\""), &mut answer.long)?;
        Ok(answer)
    }
}
