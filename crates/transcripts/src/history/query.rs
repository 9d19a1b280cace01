//! A search and its result.

use super::transcript::Provider;
use serde::Serialize;
use std::path::PathBuf;

/// How a pattern is interpreted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PatternKind {
    /// A regular expression, case-insensitive. If it consists of plain words, an index answers it: a line with all of
    /// them matches.
    #[default]
    Expression,
    /// Text as it was typed: one prompt, answer or call must contain every word with its punctuation, or several words
    /// in double quotes, ignoring case, width and Unicode normalization. If no line contains all of them, sessions that
    /// do are found.
    Typed,
}

/// Parameters of a search.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchQuery {
    /// The text or expression to search for.
    pub pattern: String,
    /// How the pattern is interpreted.
    pub kind: PatternKind,
    /// Reads every log whole, including tool results, instead of using an index.
    pub whole_logs: bool,
    /// Only sessions of this agent.
    pub provider: Option<Provider>,
    /// Only these sessions, hidden or not; if empty, all that are not hidden.
    pub sessions: Vec<String>,
    /// Sessions of this directory come first.
    pub workspace: Option<PathBuf>,
    /// Only sessions of [`SearchQuery::workspace`].
    pub workspace_only: bool,
    /// Includes hidden sessions.
    pub all: bool,
    /// Maximum number of matches.
    pub max_matches: usize,
    /// Number of context lines on each side of a match.
    pub context: usize,
    /// Maximum length of a line in characters.
    pub line_chars: usize,
    /// Maximum number of bytes read per log.
    pub file_bytes: u64,
    /// Maximum number of bytes read in total.
    pub total_bytes: u64,
}

/// A matching line of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SearchMatch {
    /// Id of the session.
    pub session_id: String,
    /// The agent that wrote the log.
    pub provider: Provider,
    /// Line of the log, from 1.
    pub line_number: u64,
    /// The text, truncated around the match.
    pub line: String,
    /// Preceding lines, oldest first.
    #[serde(rename = "contextBefore", skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<String>,
    /// Following lines.
    #[serde(rename = "contextAfter", skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<String>,
}

/// The parts that a search for typed text left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Unsearched {
    /// Sessions of which only the beginning was searched.
    pub ends: usize,
    /// Prompts, answers and calls of which only the beginning was searched.
    pub long: usize,
    /// Tool results were not searched.
    pub results: bool,
}

/// The result of a search.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchResult {
    /// Matches of the workspace's sessions first, then newest first; within a session by line. Lines that contain a
    /// typed text as a whole come before those that contain only its words.
    pub matches: Vec<SearchMatch>,
    /// Number of all matches seen.
    pub total: usize,
    /// A cap on matches or bytes cut the result.
    pub truncated: bool,
    /// The deadline cut the result; only then is it not reproducible.
    pub timed_out: bool,
    /// Skipped lines and logs.
    pub omitted: u64,
    /// Parts of sessions that were left out.
    pub unsearched: Unsearched,
}
