//! Chooses what a search reads: of indexed sessions the lines that have the words, of others everything. Reads such lines.

use super::{
    event::{Event, EventKind},
    excerpt::{Position, excerpt, place, shortened},
    indexed::query_words,
    logs::History,
    part::Part,
    pattern::Pattern,
    query::{SearchMatch, SearchQuery},
    transcript::Transcript,
    word_index::{IndexedText, WordIndex, is_words},
};
use crate::{budget::Budget, limits::history as limits};
use std::{collections::BTreeSet, io};

/// The lines of a transcript to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Candidates {
    /// Every line.
    All,
    Lines {
        /// These lines; 0 stands for the title.
        lines: BTreeSet<u64>,
        /// And those from this offset on, which were appended since the log was indexed.
        appended: Option<u64>,
    },
}

/// The patterns of a search.
pub(super) struct Patterns {
    /// The pattern itself.
    pub(super) whole: Pattern,
    /// Any of its words. A line that the index names has them in any order: the whole pattern need not be there.
    word: Option<Pattern>,
}

impl Patterns {
    /// Compiles the pattern of a query; the error is one sentence.
    pub(super) fn new(query: &SearchQuery) -> Result<Self, String> {
        let words: Vec<String> = query_words(&query.pattern).iter().map(|word| regex::escape(word)).collect();
        let word = if words.is_empty() { None } else { Pattern::new(&words.join("|")).ok() };
        Ok(Self { whole: Pattern::new(&query.pattern)?, word })
    }

    /// Returns where in a line that the index names the match is.
    pub(super) fn place(&self, events: &[Event]) -> Option<Position> {
        place(events, &self.whole)
            .or_else(|| place(events, self.word.as_ref()?))
            // The index ignores accents, too.
            .or_else(|| Position::begin(events))
    }
}

/// Returns the transcripts that may have a match, in the same order, and whether the index has left out older lines.
pub(super) fn choose(
    index: Option<&dyn WordIndex>,
    query: &SearchQuery,
    rows: Vec<Transcript>,
) -> (Vec<(Transcript, Candidates)>, bool) {
    let answer = index.filter(|_| !query.whole_logs && is_words(&query.pattern));
    let answer = answer.and_then(|index| index.lines(&query.pattern));
    let Some(mut answer) = answer else {
        return (rows.into_iter().map(|row| (row, Candidates::All)).collect(), false);
    };
    let mut is_cut = answer.truncated;
    let chosen = rows.into_iter().filter_map(|row| {
        let key = (row.provider, row.id.clone());
        let Some(known) = answer.sessions.get(&key) else { return Some((row, Candidates::All)) };
        let is_same = known.size == row.size && known.updated_at == row.updated_at;
        let appended = if is_same { None } else { known.appended_from(row.size) };
        // Lines of context are those of the whole log.
        if !is_same && (appended.is_none() || query.context > 0) {
            return Some((row, Candidates::All));
        }
        is_cut |= known.cut;
        // What follows the first part of a long session is never indexed.
        let appended = appended.filter(|_| !known.cut);
        let lines = answer.lines.remove(&key).unwrap_or_default();
        let has_some = !lines.is_empty() || appended.is_some();
        has_some.then_some((row, Candidates::Lines { lines, appended }))
    });
    let chosen = chosen.collect();
    (chosen, is_cut)
}

impl History {
    /// Returns the matches in lines that the index names. Each is read by itself: a log may be large, and its last line
    /// wanted.
    pub(super) fn search_lines(
        &self,
        transcript: &Transcript,
        lines: &BTreeSet<u64>,
        patterns: &Patterns,
        query: &SearchQuery,
        budget: &Budget,
    ) -> io::Result<Vec<SearchMatch>> {
        let mut matches = Vec::from_iter(title(transcript, lines, query));
        let session = (transcript.provider, transcript.id.clone());
        for &line in lines.iter().filter(|line| **line > 0) {
            if matches.len() >= query.max_matches || budget.spent() {
                break;
            }
            let events = match self.words.as_ref().and_then(|index| index.text(&session, line)) {
                Some(IndexedText::Kept(said)) => {
                    said.into_iter().map(|text| Event::new(line, None, EventKind::Assistant, text)).collect()
                }
                Some(IndexedText::Logged { first, offset }) => {
                    self.line_events(transcript, (first, offset), line, budget)?
                }
                None => self.line_events(transcript, (1, 0), line, budget)?,
            };
            if let Some(place) = patterns.place(&events) {
                matches.push(excerpt(&events, place, query, transcript, line));
            }
        }
        Ok(matches)
    }

    /// Returns the matches in what was appended to a log from an offset on.
    pub(super) fn search_appended(
        &self,
        transcript: &Transcript,
        offset: u64,
        patterns: &Patterns,
        query: &SearchQuery,
        budget: &Budget,
    ) -> io::Result<Vec<SearchMatch>> {
        let part = self.part(transcript, Part::From(offset), limits::APPENDED, budget)?;
        let lines = part.events.chunk_by(|a, b| a.line == b.line);
        let matches = lines.filter_map(|events| {
            let place = place(events, &patterns.whole)?;
            Some(excerpt(events, place, query, transcript, events[0].line))
        });
        Ok(matches.collect())
    }
}

/// Returns the match in a title.
pub(super) fn title(row: &Transcript, lines: &BTreeSet<u64>, query: &SearchQuery) -> Option<SearchMatch> {
    let title = row.title.as_ref().filter(|_| lines.contains(&0))?;
    Some(SearchMatch {
        session_id: row.id.clone(),
        provider: row.provider,
        line_number: 1,
        line: shortened(title, 0, query.line_chars),
        before: Vec::new(),
        after: Vec::new(),
    })
}
