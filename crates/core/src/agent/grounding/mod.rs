//! Answers that rest on findings: what was found goes to the model, and what it cites is opened before it is shown.
//!
//! `findings → question → model → Filter → shown text`. A citation is a path or a session with a line. It counts when
//! the line exists and a word of the sentence it stands in occurs there; any other is struck from the text.

mod citation;
mod context;
mod filter;
mod places;
mod sentence;
mod strike;
mod words;

pub(super) use context::{CITE, USE, WORD, question, room};
pub(super) use filter::Filter;

use crate::{
    CancellationToken, isolated,
    tool::Toolbox,
    update::{Findings, Place},
    workspace::Workspace,
};
use citation::Citation;
use places::Places;
use std::{
    cell::Cell,
    sync::Arc,
    time::{Duration, Instant},
};

/// Citations of a turn that are opened; those behind them are struck.
const CITATIONS: usize = 200;

/// Time for opening the citations of a turn; those behind it are struck.
const TIME: Duration = Duration::from_secs(15);

/// Words before the lines of a citation that may be a part of it: `claude code session`.
const WORDS: usize = 3;

/// The citations of one turn.
#[derive(Debug)]
pub(super) struct Grounding {
    places: Places,
    /// What the person asked.
    question: String,
    found: Vec<Place>,
    cancel: CancellationToken,
    confirmed: Cell<usize>,
    struck: Cell<usize>,
    /// Time that the checks took so far.
    taken: Cell<Duration>,
}

impl Grounding {
    pub(super) fn new(
        findings: &Findings,
        question: &str,
        workspace: Arc<Workspace>,
        tools: &Toolbox,
        cancel: &CancellationToken,
    ) -> Self {
        Self {
            places: Places::new(workspace, tools),
            question: question.to_owned(),
            found: findings.findings.iter().map(|finding| finding.place.clone()).collect(),
            cancel: cancel.clone(),
            confirmed: Cell::new(0),
            struck: Cell::new(0),
            taken: Cell::new(Duration::ZERO),
        }
    }

    /// Returns whether a citation was confirmed so far.
    pub(super) fn is_grounded(&self) -> bool {
        self.confirmed.get() > 0
    }

    /// Opens the citations of a line and counts them. `before` is what was said before it, without its citations.
    fn check(&self, before: &str, line: &str) -> Vec<(Citation, bool)> {
        let begun = Instant::now();
        let deadline = begun + TIME.saturating_sub(self.taken.get());
        let left = CITATIONS.saturating_sub(self.confirmed.get() + self.struck.get());
        let job = {
            let (places, found, cancel) =
                (self.places.clone(), self.found.clone(), self.cancel.child_token());
            let (before, line, question) = (before.to_owned(), line.to_owned(), self.question.clone());
            move |_: &_| {
                let citations = citation::citations(&line, &found, &|path| places.exist(path));
                let text = sentence::without(&line, &citations);
                let confirm = |(index, citation): (usize, Citation)| {
                    let words = sentence::words(&before, &text, citation.range.start, &question);
                    let holds = index < left
                        && Instant::now() < deadline
                        && places.confirm(&citation, &words, &cancel);
                    (citation, holds)
                };
                citations.into_iter().enumerate().map(confirm).collect::<Vec<_>>()
            }
        };
        let checked = isolated::run("citations", isolated::FILES, &self.cancel, job, |(): ()| ());
        // What cannot be opened in time is not confirmed.
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

    /// Returns how many words at the end of an incomplete line may be a part of a citation.
    fn held_words(&self) -> usize {
        let words = self.found.iter().map(|place| match place {
            Place::File { path } => path.split_whitespace().count(),
            Place::Session { .. } => 0,
        });
        words.max().unwrap_or_default().max(WORDS)
    }

    /// Returns what is said of the citations at the end of the answer.
    fn notes(&self) -> Vec<String> {
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

#[cfg(test)]
mod turn_tests;
