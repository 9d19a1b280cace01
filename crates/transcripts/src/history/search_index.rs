//! Chooses what a search reads: for indexed sessions, the lines with the words; for others, everything. Reads such
//! lines.

use super::{
    excerpt::excerpt,
    found::{Found, SearchPass},
    logs::History,
    query::Unsearched,
    transcript::Transcript,
    word_index::{IndexedText, SessionKey, WordIndex},
};
use crate::limits;
use std::{collections::BTreeSet, io};

/// The lines of a transcript to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Candidates {
    /// Every line.
    All,
    Lines {
        /// Lines with the words; 0 is the title.
        lines: BTreeSet<u64>,
        /// Lines that may contain them.
        unsure: BTreeSet<u64>,
        /// All lines from this offset on, which are not indexed, are read too.
        rest: Option<u64>,
    },
}

impl Candidates {
    /// Returns whether the index lists the title.
    pub(super) fn has_title(&self) -> bool {
        matches!(self, Self::Lines { lines, .. } if lines.contains(&0))
    }
}

/// The transcripts and lines that a search reads.
pub(super) struct ChosenRows {
    pub(super) rows: Vec<(Transcript, Candidates)>,
    pub(super) unsearched: Unsearched,
    /// The index left out older lines.
    pub(super) is_cut: bool,
}

/// Returns the transcripts that may have a match, in the same order.
pub(super) fn choose(
    index: Option<&dyn WordIndex>,
    search: &SearchPass<'_>,
    rows: Vec<Transcript>,
) -> ChosenRows {
    let SearchPass { query, wanted, words, .. } = *search;
    let answer = index.filter(|_| !words.is_empty()).and_then(|index| index.lines(words));
    let unsearched = Unsearched { results: !query.whole_logs, ..Unsearched::default() };
    let Some(mut answer) = answer else {
        let rows = rows.into_iter().map(|row| (row, Candidates::All)).collect();
        return ChosenRows { rows, unsearched, is_cut: false };
    };
    let is_typed = wanted.typed().is_some();
    let mut chosen = ChosenRows { rows: Vec::new(), unsearched, is_cut: answer.truncated };
    let (mut rest_left, mut long_left) = (limits::SEARCH_REST, limits::SEARCH_LONG);
    for row in rows {
        let key: SessionKey = (row.provider, row.id.clone());
        let Some(known) = answer.sessions.get(&key) else {
            chosen.rows.push((row, Candidates::All));
            continue;
        };
        let is_same = known.size == row.size && known.updated_at == row.updated_at;
        let mut rest = if is_same { None } else { known.appended_from(row.size) };
        // Context lines are those of the whole log.
        if !is_same && (rest.is_none() || query.context > 0) {
            chosen.rows.push((row, Candidates::All));
            continue;
        }
        let mut unsure = answer.long.remove(&key).unwrap_or_default();
        if !is_typed {
            chosen.is_cut |= known.cut;
            unsure.clear();
        }
        if known.cut {
            let bytes = known.rest(&row.file_path, row.size);
            let is_read = is_typed && bytes <= rest_left;
            if is_read && known.upto.is_none() {
                rest_left -= bytes;
                chosen.rows.push((row, Candidates::All));
                continue;
            }
            rest = known.upto.filter(|_| is_read);
            if is_read {
                rest_left -= bytes;
            } else {
                chosen.unsearched.ends += 1;
            }
        }
        if unsure.len() > long_left {
            chosen.unsearched.long += unsure.len();
            unsure.clear();
        }
        long_left -= unsure.len();
        let mut lines = answer.lines.remove(&key).unwrap_or_default();
        if wanted.is_answered_by_index() {
            unsure.retain(|line| !lines.contains(line));
        } else {
            lines.retain(|line| !unsure.contains(line));
        }
        if !lines.is_empty() || !unsure.is_empty() || rest.is_some() || wanted.fit_of_title(&row).is_some() {
            chosen.rows.push((row, Candidates::Lines { lines, unsure, rest }));
        }
    }
    chosen
}

impl History {
    /// Adds the matches in lines that the index lists. Each line is read by itself: a log may be large, and only its
    /// last line wanted. Texts stored in the index are used only if `is_whole`.
    pub(super) fn search_lines(
        &self,
        transcript: &Transcript,
        (lines, is_whole): (&BTreeSet<u64>, bool),
        search: &SearchPass<'_>,
        found: &mut Found,
    ) -> io::Result<()> {
        let session = (transcript.provider, transcript.id.clone());
        for &line in lines.iter().filter(|line| **line > 0) {
            if found.is_full(search) || search.budget.spent() {
                found.capped = true;
                break;
            }
            let text = self.words.as_ref().and_then(|index| index.text(&session, line));
            let events = match text {
                Some(IndexedText::Kept(said)) if is_whole => said,
                Some(IndexedText::Logged { first, offset }) => {
                    self.line_events(transcript, (first, offset), line, search.budget)?
                }
                _ => self.line_events(transcript, (1, 0), line, search.budget)?,
            };
            let events = search.wanted.searched(events, transcript);
            if let Some((place, fit)) = search.wanted.place_of_indexed(&events) {
                found.total += 1;
                found.add(excerpt(&events, place, search.query, transcript, line), fit, &events);
            }
        }
        Ok(())
    }
}
