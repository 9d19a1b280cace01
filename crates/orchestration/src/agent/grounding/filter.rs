//! Filters a model's answer: text passes as it arrives, citations once their line is complete and confirmed.

use super::{
    checker::Grounding,
    citation::{Citation, may_cite},
    sentence, strike,
};
use crate::agent::limits::PARAGRAPH_BYTES;

/// Processes one answer in pieces of any size. Text without citations passes unchanged.
#[derive(Debug)]
pub(crate) struct Filter<'a> {
    grounding: &'a Grounding,
    line: String,
    /// Bytes of the current line that were already released.
    passed: usize,
    /// The fence that closes the current code block.
    fence: Option<String>,
    /// Text before the current line, without citations.
    before: String,
}

impl<'a> Filter<'a> {
    pub(crate) fn new(grounding: &'a Grounding) -> Self {
        Self { grounding, line: String::new(), passed: 0, fence: None, before: String::new() }
    }

    /// Adds text and returns the newly released text.
    pub(crate) fn push(&mut self, text: &str) -> String {
        let mut out = String::new();
        for piece in text.split_inclusive('\n') {
            self.line.push_str(piece);
            if piece.ends_with('\n') {
                out.push_str(&self.end_line());
            }
        }
        let safe = if self.fence.is_some() {
            self.line.len()
        } else {
            certain(&self.line, self.grounding.held_words())
        };
        if safe > self.passed {
            out.push_str(&self.line[self.passed..safe]);
            self.passed = safe;
        }
        out
    }

    /// Returns the remaining text.
    pub(crate) fn finish(&mut self) -> String {
        self.end_line()
    }

    /// Returns notes about the citations at the end of an answer, in separate paragraphs; often empty.
    pub(crate) fn postscript(&self) -> String {
        let notes = self.grounding.notes();
        // The note must not end up in a code block that the model left open.
        let close = self.fence.as_ref().filter(|_| !notes.is_empty()).map(|fence| format!("\n{fence}"));
        close.into_iter().chain(notes.into_iter().map(|note| format!("\n\n{note}"))).collect()
    }

    fn end_line(&mut self) -> String {
        let line = std::mem::take(&mut self.line);
        let passed = std::mem::take(&mut self.passed);
        let was_open = self.fence.is_some();
        self.follow_fence(&line);
        if was_open {
            return line[passed..].to_owned();
        }
        let is_fence = self.fence.is_some();
        let text = line.trim_end_matches(['\n', '\r']);
        if !may_cite(text) {
            if !is_fence {
                self.remember(text, &[]);
            }
            return line[passed..].to_owned();
        }
        let checked = self.grounding.check(&self.before, text);
        let citations: Vec<_> = checked.iter().map(|(citation, _)| citation.clone()).collect();
        if !is_fence {
            self.remember(text, &citations);
        }
        let struck: Vec<_> =
            checked.into_iter().filter(|(_, holds)| !holds).map(|(citation, _)| citation.range).collect();
        if struck.is_empty() {
            return line[passed..].to_owned();
        }
        match strike::strike(text, &struck) {
            // Released text is never struck: see `certain`.
            Some(left) => left.get(passed..).unwrap_or_default().to_owned() + &line[text.len()..],
            None => String::new(),
        }
    }

    fn follow_fence(&mut self, line: &str) {
        let text = line.trim();
        let Some(mark) = text.chars().next().filter(|mark| "`~".contains(*mark)) else { return };
        let count = text.chars().take_while(|letter| *letter == mark).count();
        match &self.fence {
            Some(open) if open.starts_with(mark) && count >= open.len() && text.len() == count => {
                self.fence = None;
            }
            None if count >= 3 && !text[count..].contains('`') => {
                self.fence = Some(text[..count].to_owned());
            }
            _ => {}
        }
    }

    fn remember(&mut self, line: &str, citations: &[Citation]) {
        sentence::join(&mut self.before, &sentence::without(line, citations));
        let too_much = self.before.len().saturating_sub(PARAGRAPH_BYTES);
        let cut = (too_much..self.before.len()).find(|at| self.before.is_char_boundary(*at));
        self.before.drain(..cut.unwrap_or_default());
    }
}

/// Returns the length of the prefix of an incomplete line that no citation can change: the whole words before the first
/// one that may belong to a citation or to the marks around it.
fn certain(line: &str, held_words: usize) -> usize {
    let mut letters = line.char_indices().peekable();
    let mut end = line.len();
    let mut last = ' ';
    while let Some((at, letter)) = letters.next() {
        let next = letters.peek().map(|(_, next)| *next);
        let begins_lines = match letter {
            ':' => next.is_none_or(|next| next.is_ascii_digit() || next == 'L'),
            '#' => next.is_none_or(|next| next == 'L'),
            '"' | '\'' | '*' | '_' => !last.is_alphanumeric(),
            _ => "`~[({<（【「“„«|".contains(letter),
        };
        last = letter;
        if begins_lines {
            end = at;
            break;
        }
    }
    // A citation may start with several words: `codex session 1234:7`, a path with spaces.
    let words = line[..end].char_indices().filter(|(_, letter)| letter.is_whitespace()).map(|(at, _)| at);
    let held = words.rev().nth(held_words).unwrap_or_default();
    let safe = line[..held].trim_end_matches(|c: char| c.is_whitespace() || ",;、:–—-".contains(c));
    // An item's marker is removed with the item when nothing else is left.
    if safe.contains(char::is_alphabetic) { safe.len() } else { 0 }
}

#[cfg(test)]
#[path = "filter_tests.rs"]
mod tests;
