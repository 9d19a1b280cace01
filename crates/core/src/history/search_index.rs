//! Chooses what a search reads: of indexed sessions the lines that have the words, of others everything.

use super::{
    event::Event,
    excerpt::{Position, place, shortened},
    indexed::query_words,
    pattern::Pattern,
    query::{SearchMatch, SearchQuery},
    transcript::Transcript,
    word_index::{WordIndex, is_words},
};
use std::{collections::BTreeSet, fs};

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
}

impl Candidates {
    /// Returns where in the events of a line the match is.
    pub(super) fn place(&self, events: &[Event], patterns: &Patterns) -> Option<Position> {
        let whole = place(events, &patterns.whole);
        if whole.is_some() || *self == Self::All {
            return whole;
        }
        // The index ignores accents, too.
        patterns.word.as_ref().and_then(|word| place(events, word)).or_else(|| Position::begin(events))
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
