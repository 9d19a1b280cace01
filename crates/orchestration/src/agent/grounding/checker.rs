//! Opens the citations of a turn and counts the confirmed ones.

use super::{
    citation::{self, Citation},
    places::CitedPlaces,
    sentence,
};
use crate::agent::limits::{CITATION_WORDS, CITATIONS, CITATIONS_TIME};
use openagents_core::{
    CancellationToken, isolated,
    update::{Findings, Place},
    workspace::Workspace,
};
use openagents_tools::tool::Toolbox;
use std::{
    cell::Cell,
    sync::Arc,
    time::{Duration, Instant},
};

/// The citations of one turn.
#[derive(Debug)]
pub(crate) struct Grounding {
    places: CitedPlaces,
    /// The user's question.
    question: String,
    found: Vec<Place>,
    cancel: CancellationToken,
    pub(super) confirmed: Cell<usize>,
    pub(super) struck: Cell<usize>,
    /// Time spent on checks so far.
    taken: Cell<Duration>,
}

impl Grounding {
    pub(crate) fn new(
        findings: &Findings,
        question: &str,
        workspace: Arc<Workspace>,
        tools: &Toolbox,
        cancel: &CancellationToken,
    ) -> Self {
        Self {
            places: CitedPlaces::new(workspace, tools),
            question: question.to_owned(),
            found: findings.findings.iter().map(|finding| finding.place.clone()).collect(),
            cancel: cancel.clone(),
            confirmed: Cell::new(0),
            struck: Cell::new(0),
            taken: Cell::new(Duration::ZERO),
        }
    }

    /// Returns whether a citation has been confirmed.
    pub(crate) fn is_grounded(&self) -> bool {
        self.confirmed.get() > 0
    }

    /// Opens and counts the citations of a line. `before` is the text before it, without citations.
    pub(super) fn check(&self, before: &str, line: &str) -> Vec<(Citation, bool)> {
        let begun = Instant::now();
        let deadline = begun + CITATIONS_TIME.saturating_sub(self.taken.get());
        let job = {
            let (places, found, cancel) =
                (self.places.clone(), self.found.clone(), self.cancel.child_token());
            let (before, line, question) = (before.to_owned(), line.to_owned(), self.question.clone());
            move |_: &_| {
                let citations = citation::citations(&line, &found, &|path| places.exist(path));
                let text = sentence::without(&line, &citations);
                let confirm = |(index, citation): (usize, Citation)| {
                    let words = sentence::words(&before, &text, citation.range.start, &question);
                    let in_time = index < CITATIONS && Instant::now() < deadline;
                    let holds = in_time && places.confirm(&citation, &words, &cancel);
                    (citation, holds)
                };
                citations.into_iter().enumerate().map(confirm).collect::<Vec<_>>()
            }
        };
        let checked = isolated::run("citations", isolated::FILES, &self.cancel, job, |(): ()| ());
        // A citation that cannot be opened in time is not confirmed.
        let checked = checked.unwrap_or_else(|_| {
            let all = citation::citations(line, &self.found, &|path| path.contains('/'));
            all.into_iter().map(|citation| (citation, false)).collect()
        });
        self.taken.set(self.taken.get() + begun.elapsed());
        let confirmed = checked.iter().filter(|(_, holds)| *holds).count();
        self.confirmed.set(self.confirmed.get() + confirmed);
        self.struck.set(self.struck.get() + checked.len() - confirmed);
        checked
    }

    /// Returns how many words at the end of an incomplete line may belong to a citation.
    pub(super) fn held_words(&self) -> usize {
        let words = self.found.iter().map(|place| match place {
            Place::File { path } => path.split_whitespace().count(),
            Place::Session { .. } => 0,
        });
        words.max().unwrap_or_default().max(CITATION_WORDS)
    }

    /// Returns the notes about citations for the end of the answer.
    pub(super) fn notes(&self) -> Vec<String> {
        let struck = match self.struck.get() {
            0 => None,
            1 => Some("_1 citation could not be confirmed and was left out._".to_owned()),
            count => Some(format!("_{count} citations could not be confirmed and were left out._")),
        };
        let ungrounded = (self.confirmed.get() == 0)
            .then(|| "_Not grounded: no place in the workspace was cited for this answer._".to_owned());
        struck.into_iter().chain(ungrounded).collect()
    }
}
