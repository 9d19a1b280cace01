//! An index of the words in transcripts, maintained by the program.

use super::index_words::QueryWord;
use crate::history::{
    log::{event::Event, lines::is_zstd},
    transcript::Provider,
};
use crate::limits;
use std::{
    collections::{BTreeSet, HashMap},
    fmt,
    path::Path,
};

/// A session by its agent and id.
pub type SessionKey = (Provider, String);

/// Finds the lines of transcripts that contain given words. It need not know all transcripts, nor be up to date: the
/// state in which it knows each one is part of the answer.
pub trait WordIndex: fmt::Debug + Send + Sync {
    /// Returns the lines that contain all of these words; `None` if the index cannot be read. Blocks.
    fn lines(&self, words: &[QueryWord]) -> Option<IndexedLines>;

    /// Returns where the text of an indexed line is stored, so that nothing else of its log is read; `None` if that is
    /// unknown.
    fn text(&self, session: &SessionKey, line: u64) -> Option<IndexedText>;
}

#[derive(Debug, Clone, PartialEq)]
pub enum IndexedText {
    /// In the log.
    Logged {
        /// Number of that line or an earlier one, from 1.
        first: u64,
        /// Byte offset of `first`.
        offset: u64,
    },
    /// In the index: the events of the line.
    Kept(Vec<Event>),
}

/// The result of a query on an index.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct IndexedLines {
    pub sessions: HashMap<SessionKey, IndexedState>,
    /// Lines with the words by session, from 1; 0 stands for the title.
    pub lines: HashMap<SessionKey, BTreeSet<u64>>,
    /// Lines of which only the beginning is indexed: the rest of them may contain the words.
    pub long: HashMap<SessionKey, BTreeSet<u64>>,
    /// Older lines were left out.
    pub truncated: bool,
}

/// The state of a transcript when it was indexed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IndexedState {
    /// Same as [`Transcript::size`](crate::history::transcript::Transcript::size).
    pub size: u64,
    /// Its last change, in milliseconds since the epoch.
    pub updated_at: i64,
    /// Only its first part is indexed.
    pub cut: bool,
    /// Bytes of its log that were read, if its agent only appends to it.
    pub upto: Option<u64>,
}

impl IndexedState {
    /// Returns how many bytes of a log of `size` bytes a search has to read because its end is not indexed. For a
    /// session in a database this is unknown, and everything has to be read.
    pub(crate) fn rest(&self, path: &Path, size: u64) -> u64 {
        let ratio = if is_zstd(path) { limits::ZSTD_RATIO } else { 1 };
        match self.upto {
            Some(upto) => size.saturating_mul(ratio).saturating_sub(upto),
            None => std::fs::metadata(path).map_or(u64::MAX, |log| log.len().saturating_mul(ratio)),
        }
    }

    /// Returns the offset of the part that was appended to a log since it was indexed, if the log is now `size` bytes
    /// long; `None` if the log was replaced, or so much was appended that it is better read as a whole.
    pub(crate) fn appended_from(&self, size: u64) -> Option<u64> {
        let upto = self.upto.filter(|_| size >= self.size)?;
        let is_short = size.saturating_sub(upto) <= limits::APPENDED && upto <= limits::COUNTED;
        (self.cut || is_short).then_some(upto)
    }
}

/// Returns whether a pattern is words rather than a regular expression, so that an index can answer it.
pub(crate) fn is_words(pattern: &str) -> bool {
    let is_plain = |letter: char| {
        letter.is_alphanumeric() || letter.is_whitespace() || "_-./:,;'@#&=%~!<>\"`".contains(letter)
    };
    pattern.chars().all(is_plain) && pattern.chars().any(char::is_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::is_words;

    #[test]
    fn is_words_rejects_expressions() {
        for words in ["redirect", "fix the parser", "Cargo.toml", "src/a-b.rs:12", "größe", "認証", "x = 1"]
        {
            assert!(is_words(words), "{words}");
        }
        for expression in
            ["", " ", "...", "a|b", "a.*b", "^a", "a$", r"\bfix\b", "[ab]c", "f(x)", "a?", "a{2}"]
        {
            assert!(!is_words(expression), "{expression}");
        }
    }
}
