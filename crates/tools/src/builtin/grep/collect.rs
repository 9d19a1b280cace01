//! Collects the matching lines of one file with their context.

use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkMatch};
use openagents_core::{text::clip, workspace::Workspace};
use serde::Serialize;
use std::{collections::VecDeque, path::Path};

/// One matching line.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct GrepMatch {
    /// Relative to the workspace.
    pub path: String,
    /// From 1.
    pub line_number: u64,
    /// Truncated.
    pub line: String,
    /// Lines before it, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub context_before: Vec<String>,
    /// Lines after it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub context_after: Vec<String>,
}

/// Parameters of one search.
pub(super) struct Search<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) matcher: RegexMatcher,
    pub(super) context: usize,
    pub(super) cap: usize,
    pub(super) line_chars: usize,
}

/// Keeps matches up to the cap and counts all.
pub(super) struct FileMatches<'a> {
    search: &'a Search<'a>,
    path: &'a Path,
    /// The displayed path; created on the first match.
    shown: Option<String>,
    /// The preceding lines, matching or not, for the context of the next match.
    passed: VecDeque<(u64, String)>,
    pub(super) kept: Vec<GrepMatch>,
    pub(super) total: u64,
}

impl<'a> FileMatches<'a> {
    pub(super) fn new(search: &'a Search<'a>, path: &'a Path) -> Self {
        Self { search, path, shown: None, passed: VecDeque::new(), kept: Vec::new(), total: 0 }
    }

    fn pass(&mut self, number: u64, line: &str) {
        let reach = self.search.context as u64;
        if reach == 0 {
            return;
        }
        for earlier in self.kept.iter_mut().rev().take_while(|hit| hit.line_number + reach >= number) {
            if earlier.line_number < number {
                earlier.context_after.push(line.to_owned());
            }
        }
        self.passed.push_back((number, line.to_owned()));
        if self.passed.len() > self.search.context {
            self.passed.pop_front();
        }
    }
}

impl Sink for FileMatches<'_> {
    type Error = std::io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, std::io::Error> {
        let first = found.line_number().unwrap_or_default();
        for (number, bytes) in (first..).zip(found.lines()) {
            self.total += 1;
            if self.kept.len() >= self.search.cap && self.search.context == 0 {
                continue;
            }
            let line = shorten(bytes, self.search.line_chars);
            let reach = self.search.context as u64;
            let before = self.passed.iter().filter(|(passed, _)| passed + reach >= number);
            let context_before = before.map(|(_, text)| text.clone()).collect();
            self.pass(number, &line);
            if self.kept.len() < self.search.cap {
                let shown = self.shown.get_or_insert_with(|| Workspace::shown(self.path));
                self.kept.push(GrepMatch {
                    path: shown.clone(),
                    line_number: number,
                    line,
                    context_before,
                    context_after: Vec::new(),
                });
            }
        }
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> Result<bool, std::io::Error> {
        let line = shorten(context.bytes(), self.search.line_chars);
        self.pass(context.line_number().unwrap_or_default(), &line);
        Ok(true)
    }
}

/// Strips the line ending and truncates at a character boundary.
fn shorten(bytes: &[u8], characters: usize) -> String {
    let line = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    // A character has at most four bytes; later bytes cannot be shown and are not decoded.
    let head = &line[..line.len().min(characters.saturating_mul(4))];
    clip(&String::from_utf8_lossy(head), characters)
}
