//! Findings that show an answer.

use super::{
    documents::Passage,
    files::{is_prologue, text},
    topics::Asked,
};
use openagents_core::{
    text::{cut_at_word, one_line, prefix},
    update::{Finding, FindingKind, Place},
    workspace::Workspace,
};
use std::path::Path;

/// Maximum findings of an orientation.
pub(super) const FINDINGS: usize = 3;

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
        symbol: None,
        score: 1.0,
        why,
    })
}

pub(super) fn finding(passage: &Passage, asked: &Asked) -> Finding {
    let why = match (passage.heading.as_str(), asked.topic) {
        ("", _) => "says how".to_owned(),
        (heading, _) => cut_at_word(&one_line(heading), 120),
    };
    Finding {
        kind: FindingKind::Text,
        place: Place::File { path: passage.path.clone() },
        start: passage.start,
        end: passage.end,
        excerpt: clipped(&passage.text),
        symbol: None,
        score: 1.0,
        why,
    }
}

pub(super) fn clipped(text: &str) -> String {
    prefix(text, Finding::EXCERPT_BYTES).to_owned()
}
