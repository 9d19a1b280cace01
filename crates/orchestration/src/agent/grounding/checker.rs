//! Checks the citations of an answer once it has ended: each is opened, and those that do not hold are named below the answer.

use super::{
    citation::{self, Citation, may_cite},
    places::CitedPlaces,
    sentence,
};
use crate::agent::limits::{CITATIONS, CITATIONS_TIME, PARAGRAPH_BYTES};
use openagents_core::{
    CancellationToken, isolated,
    update::{Findings, Place},
    visible::code_span,
    workspace::Workspace,
};
use openagents_tools::tool::Toolbox;
use std::{
    cell::Cell,
    sync::Arc,
    time::{Duration, Instant},
};

/// Maximum number of unconfirmed citations that the note below an answer names.
const NAMED: usize = 5;

/// The citations of one turn.
#[derive(Debug)]
pub(crate) struct Grounding {
    places: CitedPlaces,
    question: String,
    found: Vec<Place>,
    cancel: CancellationToken,
    confirmed: Cell<usize>,
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
            taken: Cell::new(Duration::ZERO),
        }
    }

    /// Returns whether a citation has been confirmed.
    pub(crate) fn is_grounded(&self) -> bool {
        self.confirmed.get() > 0
    }

    /// Opens the citations of a line. `before` is the text before it, without citations.
    fn check_line(&self, before: &str, line: &str) -> Vec<(Citation, bool)> {
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
        checked
    }

    /// Checks an answer and returns what is added below it, in separate paragraphs: the citations that could not be
    /// confirmed, and a note if no place is cited. Often empty.
    pub(crate) fn postscript(&self, answer: &str) -> String {
        let (mut before, mut fence, mut unconfirmed) = (String::new(), None::<String>, Vec::new());
        for line in answer.lines() {
            let was_open = fence.is_some();
            follow_fence(&mut fence, line);
            if was_open || fence.is_some() {
                continue;
            }
            let checked = if may_cite(line) { self.check_line(&before, line) } else { Vec::new() };
            let citations: Vec<_> = checked.iter().map(|(citation, _)| citation.clone()).collect();
            for (citation, holds) in checked {
                if holds {
                    self.confirmed.set(self.confirmed.get() + 1);
                } else if let Some(text) = line.get(citation.range) {
                    unconfirmed.push(format!("`{}`", code_span(text.trim_matches(['`', ' ']))));
                }
            }
            sentence::join(&mut before, &sentence::without(line, &citations));
            let too_much = before.len().saturating_sub(PARAGRAPH_BYTES);
            before.drain(..before.ceil_char_boundary(too_much));
        }
        let mut notes = Vec::new();
        if !unconfirmed.is_empty() {
            notes.push(format!("_Could not be confirmed: {}._", list_short(&unconfirmed)));
        }
        if !self.is_grounded() {
            notes.push("_Not grounded: no place in the workspace was cited for this answer._".to_owned());
        }
        // A note must not end up in a code block that the model left open.
        let close = fence.filter(|_| !notes.is_empty()).map(|fence| format!("\n{fence}"));
        close.into_iter().chain(notes.into_iter().map(|note| format!("\n\n{note}"))).collect()
    }
}

/// Joins the first citations of a list.
fn list_short(citations: &[String]) -> String {
    let shown = citations.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    match citations.len().saturating_sub(NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// Updates the mark that closes the current code block.
fn follow_fence(fence: &mut Option<String>, line: &str) {
    let text = line.trim();
    let Some(mark) = text.chars().next().filter(|mark| "`~".contains(*mark)) else { return };
    let count = text.chars().take_while(|letter| *letter == mark).count();
    match fence {
        Some(open) if open.starts_with(mark) && count >= open.len() && text.len() == count => *fence = None,
        None if count >= 3 && !text[count..].contains('`') => *fence = Some(text[..count].to_owned()),
        _ => {}
    }
}

#[cfg(test)]
#[path = "checker_tests.rs"]
mod tests;
