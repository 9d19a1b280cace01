//! Answers: statements about a project, with the places that show them.

use super::{
    documents::{Command, Passage},
    files::{is_prologue, text},
};
use openagents_core::{
    text::{cut_at_word, one_line, prefix},
    update::{FactPlace, Finding, FindingKind, OverviewFact, Place},
    visible::code_span,
    workspace::Workspace,
};
use std::path::Path;

/// Maximum findings of an answer.
pub(super) const FINDINGS: usize = 3;
/// Maximum characters of a quoted line.
const QUOTED: usize = 160;

/// A statement about a project, and where it says so.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Fact(OverviewFact);

impl Fact {
    /// `text` is one line of Markdown.
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self(OverviewFact { text: text.into(), place: None })
    }

    /// A line of a passage, as it is; `at` is its index.
    pub(super) fn quoted(passage: &Passage, at: usize, line: &str) -> Self {
        let line = cut_at_word(&one_line(&line.replace('`', "'")), QUOTED);
        Self::new(format!("`{}`", code_span(&line))).at(&passage.path, passage.start + at as u64)
    }

    /// A command with its place and the heading above it.
    pub(super) fn command(passage: &Passage, command: &Command) -> Self {
        let heading = passage.heading.rsplit(" › ").next().unwrap_or_default();
        let heading = if heading.is_empty() { String::new() } else { format!(", {}", one_line(heading)) };
        let runs =
            command.runs.as_ref().map(|runs| format!(" runs `{}`", code_span(&cut_at_word(runs, QUOTED))));
        let text = format!("`{}`{}{heading}", code_span(&command.text), runs.unwrap_or_default());
        Self::new(text).at(&passage.path, command.line)
    }

    pub(super) fn at(self, path: &str, line: u64) -> Self {
        self.within(path, line, line)
    }

    pub(super) fn within(self, path: &str, start: u64, end: u64) -> Self {
        let place = Place::File { path: path.to_owned() };
        Self(OverviewFact { place: Some(FactPlace { place, start, end }), ..self.0 })
    }

    pub(super) fn statement(&self) -> &str {
        &self.0.text
    }

    /// Returns the code at the beginning of the statement.
    pub(super) fn code(&self) -> Option<&str> {
        Some(self.0.text.strip_prefix('`')?.split_once('`')?.0)
    }

    /// Removes the heading after the command of a document.
    pub(super) fn without_heading(self) -> Self {
        let text = match self.0.text.split_once("`, ").filter(|_| self.0.place.is_some()) {
            Some((command, _)) => format!("{command}`"),
            None => self.0.text,
        };
        Self(OverviewFact { text, ..self.0 })
    }

    /// In a past session of an agent.
    pub(super) fn in_session(self, provider: &str, session_id: &str) -> Self {
        let place = Place::Session { provider: provider.to_owned(), session_id: session_id.to_owned() };
        Self(OverviewFact { place: Some(FactPlace { place, start: 0, end: 0 }), ..self.0 })
    }

    /// Puts a label before the statement.
    pub(super) fn labelled(self, label: &str) -> Self {
        Self(OverviewFact { text: format!("{label}: {}", self.0.text), ..self.0 })
    }
}

impl From<Fact> for OverviewFact {
    fn from(fact: Fact) -> Self {
        fact.0
    }
}

/// Statements about a project, and the findings that show them, best first.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Answer {
    pub(super) facts: Vec<Fact>,
    pub(super) findings: Vec<Finding>,
}

impl Answer {
    /// Adds a finding if there is room and it is new.
    pub(super) fn show(&mut self, finding: Finding) {
        let is_new = !self.findings.iter().any(|known| known.is_same_passage(&finding));
        if is_new && self.findings.len() < FINDINGS {
            self.findings.push(finding);
        }
    }

    /// Returns the facts in Markdown: one as a sentence, several as a list.
    pub(super) fn lead(&self) -> String {
        match self.facts.as_slice() {
            [only] => only.0.markdown(),
            facts => {
                facts.iter().map(|fact| format!("- {}", fact.0.markdown())).collect::<Vec<_>>().join("\n")
            }
        }
    }
}

/// Returns the first lines of a file that are not a licence or imports.
pub(super) fn beginning(workspace: &Workspace, path: &str, why: String) -> Option<Finding> {
    let text = text(workspace, Path::new(path))?;
    let lines: Vec<&str> = text.lines().collect();
    let from = lines.iter().position(|line| !is_prologue(line)).unwrap_or(0);
    let to = (from + 20).min(lines.len());
    Some(Finding {
        kind: FindingKind::Usage,
        place: Place::File { path: path.to_owned() },
        start: from as u64 + 1,
        end: to.max(from + 1) as u64,
        excerpt: clipped(&lines[from..to].join("\n")),
        lines: Vec::new(),
        about: None,
        symbol: None,
        score: 1.0,
        why,
    })
}

/// Returns a finding with the whole passage; its heading is the reason.
pub(super) fn finding(passage: &Passage) -> Finding {
    let why = match passage.heading.as_str() {
        "" => "says so".to_owned(),
        heading => cut_at_word(&one_line(heading), 120),
    };
    Finding {
        kind: FindingKind::Text,
        place: Place::File { path: passage.path.clone() },
        start: passage.start,
        end: passage.end,
        excerpt: clipped(&passage.text),
        lines: Vec::new(),
        about: None,
        symbol: None,
        score: 1.0,
        why,
    }
}

pub(super) fn clipped(text: &str) -> String {
    prefix(text, Finding::EXCERPT_BYTES).to_owned()
}
