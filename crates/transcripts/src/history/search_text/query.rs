//! A search and its result.

use crate::history::transcript::Provider;
use crate::limits;
use regex::{Regex, RegexBuilder, bytes};
use serde::Serialize;
use std::path::PathBuf;

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

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchQuery {
    /// The text or expression to search for.
    pub pattern: String,
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

#[derive(Debug)]
pub(crate) struct Pattern {
    text: Regex,
    /// The same pattern for raw lines, if it matches whenever the other matches the decoded text.
    raw: Option<bytes::Regex>,
}

impl Pattern {
    /// Compiles a pattern; the error is one sentence.
    pub(crate) fn new(pattern: &str) -> Result<Self, String> {
        let text = RegexBuilder::new(pattern)
            .case_insensitive(true)
            .multi_line(true)
            .size_limit(limits::PATTERN)
            .build()
            .map_err(|error| reason(&error))?;
        let mut raw = bytes::RegexBuilder::new(pattern);
        raw.case_insensitive(true).size_limit(limits::PATTERN);
        let raw = if reads_raw(pattern) { raw.build().ok() } else { None };
        Ok(Self { text, raw })
    }

    /// Returns false only if no text in this line of a log can match.
    pub(crate) fn may_match(&self, line: &[u8]) -> bool {
        self.raw.as_ref().is_none_or(|raw| raw.is_match(line))
    }

    /// Returns the byte offset of the first match in a line of text.
    pub(crate) fn find(&self, text: &str) -> Option<usize> {
        self.text.find(text).map(|found| found.start())
    }
}

/// Returns whether a pattern that matches a text also matches its JSON form, in which quotes, backslashes and line
/// breaks are two characters, and non-ASCII ones may be six.
fn reads_raw(pattern: &str) -> bool {
    let bytes = pattern.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let next = bytes.get(at + 1).copied();
        match bytes[at] {
            // An escaped punctuation character stands for itself; `\b`, `\w`, `\n` and the like do not. `\<` and `\>`
            // are word boundaries, and a word may start after the `n` of `\n`.
            b'\\'
                if next.is_some_and(|next| {
                    next.is_ascii_punctuation() && !matches!(next, b'\\' | b'"' | b'/' | b'<' | b'>')
                }) =>
            {
                at += 1;
            }
            b'\\' | b'"' | b'^' | b'$' => return false,
            b'[' => match plain_class(&bytes[at + 1..]) {
                Some(length) => at += length,
                None => return false,
            },
            // A single character may become two; any number of them stays any number.
            b'.' if !matches!(next, Some(b'*' | b'+')) => return false,
            // Flags change the syntax; `/` may be written `\/`.
            b'(' if next == Some(b'?') && bytes.get(at + 2) != Some(&b':') => return false,
            b'/' => return false,
            byte if byte >= 0x80 || byte.is_ascii_control() => return false,
            _ => {}
        }
        at += 1;
    }
    true
}

/// Returns the length of a class after its `[`, including its `]`, if it contains only letters, digits and ranges of
/// them: other ranges may contain a quote or a backslash.
fn plain_class(class: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        let first = *class.get(at)?;
        let last = match class.get(at + 1..at + 3) {
            Some([b'-', last]) => Some(*last),
            _ => None,
        };
        match (first, last) {
            (b']', _) if at > 0 => return Some(at + 1),
            (b'a'..=b'z', Some(b'a'..=b'z'))
            | (b'A'..=b'Z', Some(b'A'..=b'Z'))
            | (b'0'..=b'9', Some(b'0'..=b'9')) => at += 3,
            (first, None) if first.is_ascii_alphanumeric() => at += 1,
            _ => return None,
        }
    }
}

fn reason(error: &regex::Error) -> String {
    match error {
        regex::Error::CompiledTooBig(_) => "the pattern is too large".to_owned(),
        // The parser draws the error over several lines; the last one is the message.
        error => {
            let text = error.to_string();
            let last = text.lines().next_back().unwrap_or_default();
            last.trim_start_matches("error:").trim().to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_raw_accepts_plain_patterns() {
        let rows = [
            ("login", true),
            ("TODO|FIXME", true),
            ("fix.*login", true),
            (r"a\.rs", true),
            ("(?:a|b)+", true),
            ("[a-c]x?", true),
            ("[a-cA-C0-9_x]", false),
            ("[a-cA-C0-9x]b", true),
            ("[!-0]", false),
            ("[A-z]", false),
            ("[a-]", false),
            ("[a-c&&b]", false),
            ("[]a]", false),
            ("[[:alpha:]]", false),
            (r"[\w]", false),
            (r"\<todo", false),
            ("src/a", false),
            (r"\bTODO\b", false),
            ("say \"hi\"", false),
            ("^fix", false),
            ("a.b", false),
            ("[^a]b", false),
            ("(?s)a", false),
            ("grüße", false),
            (r"a\\b", false),
        ];
        for (pattern, expected) in rows {
            assert_eq!(reads_raw(pattern), expected, "{pattern}");
        }
    }

    #[test]
    fn pattern_class_with_quote_finds_quotes() {
        let line = br#"{"message":{"content":"please a\"b now"}}"#;
        for pattern in ["a[!-0]b now", "a[\"']b", "a[ -z]b", r"a[\x22]b"] {
            let pattern = Pattern::new(pattern).unwrap();
            assert!(pattern.find("please a\"b now").is_some() && pattern.may_match(line), "{pattern:?}");
        }
    }

    #[test]
    fn bad_pattern_fails_with_one_sentence() {
        let error = Pattern::new("a(").unwrap_err();
        assert_eq!(error, "unclosed group");
        assert_eq!(Pattern::new(r"\w{5000}{5000}").unwrap_err(), "the pattern is too large");
    }
}
