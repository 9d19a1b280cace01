//! Chooses what a search reads: of indexed sessions the lines that have the words, of others everything. Reads such lines.

use super::{
    event::{Event, EventKind},
    excerpt::{Position, excerpt, place, shortened},
    indexed::query_words,
    logs::History,
    pattern::Pattern,
    query::{SearchMatch, SearchQuery},
    transcript::Transcript,
    word_index::{IndexedText, WordIndex, is_words},
};
use crate::budget::Budget;
use std::{collections::BTreeSet, fs, io};

/// The lines of a transcript to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Candidates {
    /// Every line.
    All,
    /// These lines; 0 stands for the title.
    Lines(BTreeSet<u64>),
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
        let known = answer.sessions.get(&key).filter(|known| {
            let size = fs::metadata(&row.file_path).map_or(0, |log| log.len());
            known.size == size && known.updated_at == row.updated_at
        });
        let Some(known) = known else { return Some((row, Candidates::All)) };
        is_cut |= known.cut;
        answer.lines.remove(&key).map(|lines| (row, Candidates::Lines(lines)))
    });
    let chosen = chosen.collect();
    (chosen, is_cut)
}

impl History {
    /// Adds the matches in lines that the index names. Each is read by itself: a log may be large, and its last line wanted.
    pub(super) fn search_lines(
        &self,
        transcript: &Transcript,
        wanted: &BTreeSet<u64>,
        patterns: &Patterns,
        query: &SearchQuery,
        budget: &Budget,
        matches: &mut Vec<SearchMatch>,
    ) -> io::Result<()> {
        let session = (transcript.provider, transcript.id.clone());
        for &line in wanted.iter().filter(|line| **line > 0) {
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
        Ok(())
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
