//! The tool `search.grep`: a regular expression over the files of the workspace.
//!
//! Searches the files of [`openagents_core::walk`], except binary ones. Runs to the end or to the deadline and
//! truncates last, so that the total is exact and the order stable.

use super::typed::TypedTool;
use crate::tool::{Tool, ToolContext, ToolError, ToolOutput};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use openagents_core::{
    budget::Budget,
    text::clip,
    update::Cut,
    walk,
    workspace::{BINARY_PROBE, Workspace, is_binary},
};
use parking_lot::Mutex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{
    collections::VecDeque,
    io::{Cursor, Read},
    path::Path,
};

/// Longest line in bytes. A file with a longer one is skipped and counted.
const LINE_BUFFER: usize = 32 << 20;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    /// Regular expression (Rust syntax).
    pattern: String,
    /// File or directory relative to the workspace.
    path_prefix: Option<String>,
    /// Ignore case.
    #[serde(default)]
    case_insensitive: bool,
    /// Maximum number of matches (up to 200).
    max_results: Option<usize>,
    /// Lines of context around each match (0 to 3).
    #[serde(default)]
    context_lines: usize,
}

/// The matching lines, by path and line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GrepOutput {
    /// The regular expression.
    pub pattern: String,
    /// The first matches, up to the cap.
    pub matches: Vec<GrepMatch>,
    /// The cap left matches out.
    pub truncated: bool,
    /// Number of matches found, shown or not.
    pub total_matches: u64,
}

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

pub(super) fn grep() -> impl Tool {
    TypedTool {
        name: "search.grep",
        description: "Searches the files of the workspace for a regular expression and gives the matching lines.",
        run,
    }
}

fn run(context: &ToolContext<'_>, arguments: Arguments) -> Result<ToolOutput, ToolError> {
    let limits = context.limits;
    let wanted = Search {
        workspace: context.workspace,
        matcher: matcher(&arguments.pattern, arguments.case_insensitive, limits.regex_bytes)?,
        context: arguments.context_lines.min(limits.grep_context_max),
        cap: arguments.max_results.unwrap_or(limits.grep_matches).min(limits.grep_matches),
        line_chars: limits.grep_line_chars,
    };
    let start = context.workspace.resolve(arguments.path_prefix.as_deref().unwrap_or("."))?;
    let budget = context.budget(limits.grep_time);
    let (matches, total_matches, cut) = search(&wanted, &start, &budget)?;
    budget.check_cancelled()?;
    let found = GrepOutput { pattern: arguments.pattern, matches, truncated: cut.truncated, total_matches };
    Ok(ToolOutput::new(found, cut))
}

fn matcher(pattern: &str, case_insensitive: bool, bytes: usize) -> Result<RegexMatcher, ToolError> {
    if pattern.is_empty() {
        return Err(ToolError::InvalidParameters("the pattern is empty".to_owned()));
    }
    RegexMatcherBuilder::new()
        .case_insensitive(case_insensitive)
        .line_terminator(Some(b'\n'))
        .size_limit(bytes)
        .dfa_size_limit(bytes)
        .build(pattern)
        .map_err(|error| ToolError::InvalidParameters(format!("Invalid regex pattern: {pattern}: {error}")))
}

struct Search<'a> {
    workspace: &'a Workspace,
    matcher: RegexMatcher,
    context: usize,
    cap: usize,
    line_chars: usize,
}

/// Keeps matches up to the cap and counts all.
struct FileMatches<'a> {
    search: &'a Search<'a>,
    path: &'a Path,
    /// The displayed path; created on the first match.
    shown: Option<String>,
    /// The preceding lines, matching or not, for the context of the next match.
    passed: VecDeque<(u64, String)>,
    kept: Vec<GrepMatch>,
    total: u64,
}

impl<'a> FileMatches<'a> {
    fn new(search: &'a Search<'a>, path: &'a Path) -> Self {
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

/// Returns the matches in order, the total number of matches, and the cut.
fn search(
    search: &Search<'_>,
    start: &Path,
    budget: &Budget,
) -> Result<(Vec<GrepMatch>, u64, Cut), ToolError> {
    let merged = Mutex::new(Merged::default());
    if search.workspace.is_file(start) {
        search_file(&mut searcher(search), search, start, budget, &merged)?;
    } else {
        search.workspace.open_dir(start)?;
        let walked = walk::files(search.workspace, start, budget, || {
            let (mut searcher, merged) = (searcher(search), &merged);
            move |path: &Path| search_file(&mut searcher, search, path, budget, merged)
        });
        let mut merged = merged.lock();
        merged.unfinished |= walked.unfinished;
        merged.cut.omitted += walked.omitted;
    }
    let mut merged = merged.into_inner();
    merged.keep_first(search.cap);
    merged.cut.truncated = merged.total > merged.matches.len() as u64;
    if budget.timed_out() && merged.unfinished {
        merged.cut.timed_out = true;
        merged.cut.truncated = true;
    }
    Ok((merged.matches, merged.total, merged.cut))
}

#[derive(Default)]
struct Merged {
    matches: Vec<GrepMatch>,
    total: u64,
    unfinished: bool,
    cut: Cut,
}

impl Merged {
    fn add(&mut self, file: FileMatches<'_>, cap: usize) {
        self.total += file.total;
        self.matches.extend(file.kept);
        // Only the first `cap` matches can be shown; twice as many are kept so that they are sorted rarely.
        if self.matches.len() > cap.saturating_mul(2).max(1024) {
            self.keep_first(cap);
        }
    }

    fn keep_first(&mut self, cap: usize) {
        self.matches.sort_unstable();
        self.matches.truncate(cap);
    }
}

fn searcher(search: &Search<'_>) -> Searcher {
    SearcherBuilder::new()
        .line_number(true)
        .before_context(search.context)
        .after_context(search.context)
        // `BoundedReader` decides what is binary.
        .binary_detection(BinaryDetection::none())
        .heap_limit(Some(LINE_BUFFER))
        .build()
}

fn search_file(
    searcher: &mut Searcher,
    search: &Search<'_>,
    path: &Path,
    budget: &Budget,
    merged: &Mutex<Merged>,
) -> Result<(), ToolError> {
    let opened = search.workspace.open_file(path)?;
    let named = |error| ToolError::io(&Workspace::shown(path), &error);
    let Some(mut reader) = BoundedReader::new(opened.file, opened.size, budget).map_err(named)? else {
        return Ok(());
    };
    let mut found = FileMatches::new(search, path);
    let searched = searcher.search_reader(&search.matcher, &mut reader, &mut found);
    if found.total > 0 || reader.cut {
        let mut merged = merged.lock();
        merged.unfinished |= reader.cut;
        merged.add(found, search.cap);
    }
    searched.map_err(named)
}

/// Reads a file for the searcher: stops at the deadline, and immediately if the file is binary.
struct BoundedReader<'a, R> {
    head: Cursor<Vec<u8>>,
    /// The rest of the file after the head; `None` if the head is the whole file.
    rest: Option<R>,
    budget: &'a Budget,
    /// The budget ran out before the end of the file.
    cut: bool,
}

impl<'a, R: Read> BoundedReader<'a, R> {
    /// Returns `None` for a binary file. `size` is the size at opening; a file of size 0 is read to its end.
    fn new(mut file: R, size: u64, budget: &'a Budget) -> std::io::Result<Option<Self>> {
        // Most files are small and need a single read.
        let wanted = if size == 0 { BINARY_PROBE as u64 } else { size.min(BINARY_PROBE as u64) };
        let mut head = Vec::with_capacity(wanted as usize + 1);
        file.by_ref().take(wanted).read_to_end(&mut head)?;
        let whole = size > 0 && head.len() as u64 == size;
        if is_binary(&head) {
            return Ok(None);
        }
        let rest = (!whole).then_some(file);
        Ok(Some(Self { head: Cursor::new(head), rest, budget, cut: false }))
    }
}

impl<R: Read> Read for BoundedReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.budget.spent() {
            self.cut = true;
            return Ok(0);
        }
        match self.head.read(buffer)? {
            0 => self.rest.as_mut().map_or(Ok(0), |rest| rest.read(buffer)),
            length => Ok(length),
        }
    }
}

#[cfg(test)]
mod tests;
