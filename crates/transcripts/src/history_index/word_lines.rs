//! Finds lines by their words, for a search in the logs.

use super::{
    index::HistoryIndex,
    passage_text::PassageText,
    passages::{GOES_ON, appends},
    place,
    search::{Beginnings, FOUND, expression},
    texts::{self, Text},
};
use crate::history::{IndexedLines, IndexedState, IndexedText, Provider, QueryWord, SessionKey, WordIndex};
use rusqlite::OptionalExtension as _;
use std::collections::{BTreeSet, HashMap};

/// Maximum number of lines for a search in the logs: the newest ones with all words.
const LINES: usize = 20_000;

impl WordIndex for HistoryIndex {
    fn lines(&self, words: &[QueryWord]) -> Option<IndexedLines> {
        self.read_lines(words).inspect_err(|error| self.failed(error)).ok()
    }

    fn text(&self, session: &SessionKey, line: u64) -> Option<IndexedText> {
        let text = self.read_text(session, line).inspect_err(|error| self.failed(error)).ok()??;
        Some(match text {
            Text::Kept(said) => IndexedText::Kept(said.into_iter().map(PassageText::event).collect()),
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
                let mut rows = statement.query((wanted, LINES))?;
                while let Some(row) = rows.next()? {
                    count += 1;
                    let (session, line, _) = place::parts(row.get(0)?);
                    if let Some(key) = by_key.get(&session) {
                        lines.entry(key.clone()).or_default().insert(line);
                    }
                }
                Ok(count == LINES)
            };
        answer.truncated = found(&wanted, &mut answer.lines)?;
        found(&format!("\"{GOES_ON}\""), &mut answer.long)?;
        Ok(answer)
    }
}
