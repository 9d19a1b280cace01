//! The matches of a search, by session.

use super::{
    index_words::QueryWord,
    query::{SearchMatch, SearchQuery},
    target::{SearchTarget, shortened},
    typed::TextFit,
};
use crate::history::{
    log::event::{Event, EventKind},
    transcript::Transcript,
};
use openagents_core::{budget::Budget, terms::FoldedText};
use std::sync::atomic::AtomicBool;

pub(crate) struct SearchPass<'a> {
    pub(crate) target: &'a SearchTarget,
    /// The words to look up in an index.
    pub(crate) words: &'a [QueryWord],
    /// Matches with this fit are shown before all that are found later.
    pub(crate) best: TextFit,
    pub(crate) query: &'a SearchQuery,
    pub(crate) budget: &'a Budget,
    pub(crate) per_session: usize,
    /// Number of matches after which those of later sessions are only counted.
    pub(crate) enough: usize,
    /// The first sessions have enough matches.
    pub(crate) is_full: AtomicBool,
}

impl<'a> SearchPass<'a> {
    pub(crate) fn new(target: &'a SearchTarget, query: &'a SearchQuery, budget: &'a Budget) -> Self {
        Self {
            target,
            words: target.words(),
            best: TextFit::Exact,
            query,
            budget,
            per_session: query.max_matches,
            enough: query.max_matches,
            is_full: false.into(),
        }
    }
}

/// Matches in one transcript.
#[derive(Debug, Clone, Default)]
pub(crate) struct Found {
    pub(crate) matches: Vec<(TextFit, SearchMatch)>,
    pub(crate) total: usize,
    pub(crate) omitted: u64,
    pub(crate) capped: bool,
    pub(crate) finished: bool,
    most: usize,
    /// Number of matches by fit.
    fits: [usize; 3],
    /// The title, folded, if a typed text matches it.
    title: Option<(TextFit, String)>,
    title_is_prompt: bool,
}

impl Found {
    /// Returns only the match of the title; `is_named` if the index lists the title.
    pub(crate) fn new(row: &Transcript, is_named: bool, search: &SearchPass<'_>) -> Self {
        let fit = match search.target.typed() {
            Some(_) => search.target.fit_of_title(row),
            None => is_named.then_some(TextFit::Exact),
        };
        // The title of a copy may be a prompt of its original, where it is found.
        let has_own = row.named || row.continues.is_none();
        let title = row.title.as_deref().filter(|_| has_own).zip(fit).map(|(title, fit)| {
            let folded = FoldedText::new(title);
            // A truncated title ends with an ellipsis.
            (fit, folded.text().trim_end_matches('.').to_owned())
        });
        Self { most: search.per_session, title, ..Self::default() }
    }

    /// Returns whether matches found later are no longer shown.
    pub(crate) fn is_full(&self, search: &SearchPass<'_>) -> bool {
        self.up_to(search.best) >= self.most
    }

    /// Returns how many matches have this fit or a better one.
    fn up_to(&self, fit: TextFit) -> usize {
        self.fits[..=fit as usize].iter().sum()
    }

    pub(crate) fn has_room(&self, fit: TextFit) -> bool {
        self.up_to(fit) < self.most
    }

    pub(crate) fn add(&mut self, hit: SearchMatch, fit: TextFit, events: &[Event]) {
        if let Some((_, title)) = self.title.as_ref().filter(|_| !self.title_is_prompt) {
            let mut prompts = events.iter().filter(|event| event.kind == EventKind::Prompt);
            self.title_is_prompt =
                prompts.any(|event| FoldedText::new(&event.text).text().contains(title.as_str()));
        }
        if self.has_room(fit) {
            self.fits[fit as usize] += 1;
            self.matches.push((fit, hit));
        }
    }

    /// Adds the title, unless a prompt with the same text is among the matches: nothing is found twice.
    pub(crate) fn finish(&mut self, row: &Transcript, search: &SearchPass<'_>) {
        self.matches.sort_by_key(|(_, hit)| hit.line_number);
        let found = self.matches.len();
        // A line may be both in the index and after the indexed part.
        self.matches.dedup_by(|(_, a), (_, b)| a.line_number == b.line_number && a.line_number > 0);
        self.total = self.total.saturating_sub(found - self.matches.len());
        let named = self.title.take().filter(|_| !self.title_is_prompt);
        if let Some((fit, title)) = named.and_then(|(fit, _)| Some((fit, row.title.as_ref()?))) {
            self.total += 1;
            self.fits[fit as usize] += 1;
            let hit = SearchMatch {
                session_id: row.id.clone(),
                provider: row.provider,
                line_number: 1,
                line: shortened(title, 0, search.query.line_chars),
                before: Vec::new(),
                after: Vec::new(),
            };
            self.matches.insert(0, (fit, hit));
        }
    }
}

/// Results in the order of the transcripts.
#[derive(Default)]
pub(crate) struct Board {
    pub(crate) found: Vec<Found>,
    pub(crate) done: u64,
    /// Number of finished transcripts at the start, and their best matches: later ones cannot displace these.
    first: usize,
    pub(crate) first_matches: usize,
}

impl Board {
    pub(crate) fn new(transcripts: usize) -> Self {
        Self { found: vec![Found::default(); transcripts], ..Self::default() }
    }

    pub(crate) fn finish(&mut self, at: usize, found: Found, best: TextFit) {
        self.done += 1;
        self.found[at] = found;
        while let Some(next) = self.found.get(self.first).filter(|found| found.finished) {
            self.first_matches += next.up_to(best);
            self.first += 1;
        }
    }
}
