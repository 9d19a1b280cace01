//! Finds passages by their words.

use super::{
    index::HistoryIndex,
    kind::Kind,
    place, terms,
    texts::{self, Text},
};
use openagents_core::{
    CancellationToken,
    budget::Budget,
    history::{History, Transcript, query_words},
};
use rusqlite::{Connection, OptionalExtension as _, Row};
use std::{collections::HashMap, path::Path, time::Duration};

/// The newest passages with all words that are looked at.
const PASSAGES: usize = 2_000;
/// Time for reading lines of logs; later results have no snippet.
const SNIPPETS: Duration = Duration::from_millis(30);
/// Milliseconds after which a session counts half.
const HALF: f64 = 30.0 * 24.0 * 3_600_000.0;

/// The passages that have what is looked for, those of the newest sessions first.
pub(super) const FOUND: &str = "SELECT rowid FROM words WHERE words MATCH ?1 ORDER BY rowid DESC LIMIT ?2";

/// The sessions with all words of a query, best first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct IndexedMatches {
    /// Each session once, with its best passage.
    pub passages: Vec<Passage>,
    /// There may be more.
    pub truncated: bool,
}

/// A line of a session that has the words of a query.
#[derive(Debug, Clone, PartialEq)]
pub struct Passage {
    /// The session, as it was when it was indexed.
    pub session: Transcript,
    /// From 1; 0 for the title.
    pub line: u64,
    /// The kind of the line: `title`, `prompt`, `answer`, `call`, or `file` if it is a file that a call touched.
    pub kind: &'static str,
    /// The text around the first word, or the file and whether it was edited or read; `None` for a title.
    pub snippet: Option<String>,
    /// Number of matching passages of the session.
    pub matches: u64,
}

impl HistoryIndex {
    /// Returns the sessions with a passage that has all words of `query`, the last word as a beginning. Those of
    /// the workspace `near` count more, and those that `history` does not hold are left out. Blocks.
    pub fn search(
        &self,
        query: &str,
        limit: usize,
        now: i64,
        near: Option<&Path>,
        history: &History,
    ) -> rusqlite::Result<IndexedMatches> {
        let found = self.passages(query, (limit, now, near), history);
        let (mut found, texts) = found.inspect_err(|error| _ = self.renew_if_damaged(error))?;
        let budget = Budget::within(SNIPPETS, &CancellationToken::new());
        let words = query_words(query);
        for (passage, text) in found.passages.iter_mut().zip(texts) {
            let said = text
                .map(|text| text.read(history, &passage.session, passage.line, &budget))
                .unwrap_or_default();
            let cwd = passage.session.cwd.as_deref();
            if let Some((kind, snippet)) = texts::snippet(&said, &words, cwd) {
                (passage.kind, passage.snippet) = (kind, Some(snippet));
            }
        }
        Ok(found)
    }

    /// Returns passages without their snippets, and where their texts are.
    fn passages(
        &self,
        query: &str,
        (limit, now, near): (usize, i64, Option<&Path>),
        history: &History,
    ) -> rusqlite::Result<(IndexedMatches, Vec<Option<Text>>)> {
        let reader = self.reader.lock();
        let Some(wanted) = expression(&reader, query)? else { return Ok(Default::default()) };
        let mut statement = reader.prepare_cached(FOUND)?;
        let mut sessions: HashMap<i64, Best> = HashMap::new();
        let mut count = 0;
        let mut rows = statement.query((wanted, PASSAGES))?;
        while let Some(row) = rows.next()? {
            count += 1;
            let (session, line, kind) = place::parts(row.get(0)?);
            let best = sessions.entry(session).or_insert(Best { kind, line, matches: 0 });
            best.add(line, kind);
        }
        let near = near.map(Path::to_string_lossy);
        let mut described = reader.prepare_cached("SELECT updated_at, cwd FROM sessions WHERE key = ?1")?;
        let mut ranked = Vec::new();
        for (key, best) in sessions {
            let describe = |row: &Row<'_>| {
                let is_near = near
                    .as_deref()
                    .is_some_and(|near| row.get_ref(1).is_ok_and(|cwd| cwd.as_str() == Ok(near)));
                Ok((row.get::<_, i64>(0)?, is_near))
            };
            // A passage without its session is being written anew.
            let Some((updated_at, is_near)) = described.query_row([key], describe).optional()? else {
                continue;
            };
            let age = (now - updated_at).max(0) as f64;
            let near = if is_near { 2.0 } else { 1.0 };
            let score = best.weight() * near * (0.25 + 0.75 * (-age / HALF * std::f64::consts::LN_2).exp());
            ranked.push((score, updated_at, key, best));
        }
        ranked.sort_by(|(a, older, ..), (b, newer, ..)| b.total_cmp(a).then_with(|| newer.cmp(older)));
        let truncated = count == PASSAGES || ranked.len() > limit;
        let mut rows = reader.prepare_cached("SELECT row_json FROM sessions WHERE key = ?1")?;
        let (mut passages, mut texts) = (Vec::new(), Vec::new());
        for (.., key, best) in ranked {
            if passages.len() == limit {
                break;
            }
            let json: String = rows.query_row([key], |row| row.get(0))?;
            let session = serde_json::from_str::<Transcript>(&json).ok();
            // The index may not have been told yet what a person has excluded.
            let Some(session) = session.filter(|session| history.holds(session)) else { continue };
            let Best { line, kind, matches } = best;
            texts.push(if line == 0 { None } else { texts::find(&reader, key, line)? });
            passages.push(Passage { session, line, kind: kind.name(), snippet: None, matches });
        }
        Ok((IndexedMatches { passages, truncated }, texts))
    }
}

/// The best passage of a session so far.
struct Best {
    kind: Kind,
    line: u64,
    matches: u64,
}

impl Best {
    fn add(&mut self, line: u64, kind: Kind) {
        if kind.weight() > self.kind.weight() {
            (self.kind, self.line) = (kind, line);
        }
        self.matches += 1;
    }

    fn weight(&self) -> f64 {
        // More matches count a little more.
        self.kind.weight() * (1.0 + (self.matches as f64).ln() / 4.0)
    }
}

/// Returns the query as FTS5 reads it: every word quoted, the last one as a beginning; `None` without words.
pub(super) fn expression(reader: &Connection, query: &str) -> rusqlite::Result<Option<String>> {
    let words = query_words(query);
    let Some((last, before)) = words.split_last() else { return Ok(None) };
    let quoted = |word: &str| format!("\"{}\"", word.replace('"', ""));
    let mut all: Vec<String> = before.iter().map(|word| quoted(word)).collect();
    let goes_on = query.ends_with(|letter: char| letter.is_alphanumeric() || letter == '_');
    all.push(match goes_on {
        false => quoted(last),
        // Few words begin with as much of an id as one types.
        true if !terms::has(last) => format!("{}*", quoted(last)),
        true => {
            let mut meant = vec![quoted(last)];
            meant.extend(terms::beginning_with(reader, last)?.iter().map(|word| quoted(word)));
            format!("({})", meant.join(" OR "))
        }
    });
    Ok(Some(all.join(" AND ")))
}
