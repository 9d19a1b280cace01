//! The lines of a finding that show its point: the signature of its symbol, and the lines with what was sought.

use super::{chunk::is_prologue, score::RankedChunk};
use openagents_core::{
    text::{cut_at_word, prefix},
    update::Finding,
};

/// Maximum lines of an excerpt.
const LINES: usize = 40;
/// Maximum lines of the comment above a signature, and of a signature.
const COMMENT: usize = 6;
const SIGNATURE: usize = 4;
/// Lines before the best one if the signature is not next to it.
const BEFORE: usize = 3;
/// Lines after a signature in which the best one is shown without a gap.
const NEAR: usize = 10;

/// Shown in place of omitted lines.
const GAP: &str = "…";

/// Text of an excerpt, with the number of each line, from 1; 0 where lines are omitted.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Excerpt {
    pub(super) text: String,
    /// Empty if the lines run from the first line of the finding.
    pub(super) numbers: Vec<u64>,
}

impl Excerpt {
    /// `place` is the first and the last line of the finding, from 0.
    pub(super) fn new(lines: &[&str], chunk: &RankedChunk, place: (usize, usize)) -> Self {
        let (start, end) = place;
        let best = chunk.best_lines.iter().find(|at| lines.get(**at).is_some_and(|line| !is_prologue(line)));
        let best = best.or(chunk.best_lines.first()).map_or(start, |at| (*at).clamp(start, end));
        let mut shown: Vec<Option<usize>> = Vec::new();
        let signature = signature_end(lines, chunk.head);
        let from = if chunk.symbol.is_empty() {
            begin(lines, best, start)
        } else if best < chunk.head {
            // In the comment above the symbol.
            best
        } else if best <= chunk.head + NEAR {
            above(lines, chunk.head)
        } else {
            shown.extend((chunk.head..=signature).map(Some).chain([None]));
            best - BEFORE
        };
        let room = LINES.saturating_sub(shown.len());
        let last = end.max(chunk.head.min(lines.len().saturating_sub(1)));
        shown.extend((from..=last).take(room).map(Some));
        // A comment of many lines must not hide the symbol.
        if !chunk.symbol.is_empty() && !shown.contains(&Some(chunk.head)) {
            shown.extend([None, Some(chunk.head)]);
        }
        Self::of(lines, &shown, start)
    }

    fn of(lines: &[&str], shown: &[Option<usize>], start: usize) -> Self {
        let (mut text, mut numbers) = (String::new(), Vec::new());
        for at in shown {
            let line = at.map_or(GAP, |at| lines.get(at).copied().unwrap_or_default());
            let room = Finding::EXCERPT_BYTES.saturating_sub(text.len() + 1);
            if room == 0 {
                break;
            }
            if !numbers.is_empty() {
                text.push('\n');
            }
            text.push_str(prefix(line, room));
            numbers.push(at.map_or(0, |at| at as u64 + 1));
        }
        if numbers.iter().zip(start as u64 + 1..).all(|(number, expected)| *number == expected) {
            numbers.clear();
        }
        Self { text, numbers }
    }
}

/// Returns the first line to show of lines without a symbol: a little before the best one, without imports and licence.
fn begin(lines: &[&str], best: usize, start: usize) -> usize {
    let from = best.saturating_sub(BEFORE).max(start);
    (from..best).rev().find(|at| is_prologue(lines[*at])).map_or(from, |last| last + 1)
}

/// Returns the first line of the comment above a signature, as far as it is shown.
fn above(lines: &[&str], head: usize) -> usize {
    let is_comment = |line: &&str| {
        let text = line.trim_start();
        ["//", "*", "/*", "#", "@", "--", "\"\"\""].iter().any(|mark| text.starts_with(mark))
            && !is_prologue(line)
    };
    head - lines[..head].iter().rev().take(COMMENT).take_while(|line| is_comment(line)).count()
}

/// Maximum lines of a comment that are read, and characters of its first sentence.
const READ: usize = 30;
const SENTENCE: usize = 160;

/// Returns the first sentence of the comment above a signature, or of the documentation string below it.
pub(super) fn about(lines: &[&str], head: usize) -> Option<String> {
    let is_attribute = |line: &str| line.starts_with('@') || line.starts_with("#[");
    let is_comment =
        |line: &str| ["///", "//", "*", "/*", "#", "--"].iter().any(|mark| line.starts_with(mark));
    let above = lines[..head.min(lines.len())].iter().rev().take(READ).map(|line| line.trim());
    let above: Vec<&str> = above.take_while(|line| is_attribute(line) || is_comment(line)).collect();
    let mut comment: Vec<&str> = above.into_iter().rev().filter(|line| !is_attribute(line)).collect();
    if comment.is_empty() {
        let below = lines.iter().skip(signature_end(lines, head) + 1).take(READ).map(|line| line.trim());
        let below: Vec<&str> = below.skip_while(|line| line.is_empty()).collect();
        let first = below.first()?;
        let quotes = ["\"\"\"", "'''", "r\"\"\""].into_iter().find(|quotes| first.starts_with(quotes))?;
        // The sentence ends with the paragraph, or with the quotes.
        let length =
            below.iter().skip(1).take_while(|line| !line.is_empty() && !line.starts_with(quotes)).count();
        comment = below[..=length].to_vec();
    }
    let is_end = |line: &String| line.is_empty() || line.starts_with('@');
    let bare = |line: &&str| line.trim_matches(['/', '*', '#', '!', '-', '"', '\'', ' ']).to_owned();
    let words = comment.iter().map(bare).skip_while(String::is_empty).take_while(|line| !is_end(line));
    let text = words.collect::<Vec<_>>().join(" ");
    let end = text.find(". ").map_or(text.len(), |end| end + 1);
    let sentence = cut_at_word(text[..end].trim(), SENTENCE);
    let is_prose = sentence.contains(' ') && sentence.chars().filter(|c| c.is_alphabetic()).count() > 7;
    (is_prose && !comment.iter().any(|line| is_prologue(line))).then_some(sentence)
}

/// Returns the last line of the signature that begins at `head`.
fn signature_end(lines: &[&str], head: usize) -> usize {
    let ends = |line: &&str| line.trim_end().ends_with(['{', ':', ';', '}']) || line.trim() == "{";
    let length = lines.iter().skip(head).take(SIGNATURE).position(ends).unwrap_or(0);
    head + length
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(symbol: &str, head: usize, best_line: usize) -> RankedChunk {
        RankedChunk {
            score: 1.0,
            at: 0,
            symbol: symbol.to_owned(),
            is_named: false,
            head,
            best_lines: vec![best_line],
            is_comment: false,
            is_prologue: false,
            matched: Vec::new(),
            hits: Vec::new(),
        }
    }

    fn shown(text: &str, chunk: &RankedChunk, place: (usize, usize)) -> Vec<String> {
        let lines: Vec<&str> = text.lines().collect();
        let excerpt = Excerpt::new(&lines, chunk, place);
        let numbers = (place.0 as u64 + 1..).take(excerpt.text.lines().count());
        let numbers: Vec<u64> = if excerpt.numbers.is_empty() { numbers.collect() } else { excerpt.numbers };
        excerpt.text.lines().zip(numbers).map(|(line, number)| format!("{number} {}", line.trim())).collect()
    }

    #[test]
    fn excerpt_begins_at_the_symbol() {
        let text = "use a;\nuse b;\n\n/// Doubles.\nfn double(x: u8) {\n    x * 2\n}\n";
        let expected = ["4 /// Doubles.", "5 fn double(x: u8) {", "6 x * 2", "7 }"];
        assert_eq!(shown(text, &chunk("double", 4, 5), (0, 6)), expected);
    }

    #[test]
    fn first_sentence_of_the_comment_is_found() {
        for (text, head, expected) in [
            ("/// Doubles a number. Never fails.\n#[inline]\nfn double() {\n", 2, Some("Doubles a number.")),
            (
                "/**\n * Parses HTML into a tree.\n *\n * @param x\n */\nfunction parse(x) {\n",
                5,
                Some("Parses HTML into a tree."),
            ),
            ("def a(b):\n    \"\"\"Return the sum.\n\n    More.\n    \"\"\"\n", 0, Some("Return the sum.")),
            ("# Copyright 2020 by me and others\ndef a(b):\n    pass\n", 1, None),
            ("fn a() {\n", 0, None),
        ] {
            let lines: Vec<&str> = text.lines().collect();
            assert_eq!(about(&lines, head).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn long_definition_shows_its_signature_and_the_match() {
        let body: String = (0..60).map(|at| format!("    step{at};\n")).collect();
        let text = format!("fn long(\n    a: u8,\n) {{\n{body}}}\n");
        let shown = shown(&text, &chunk("long", 0, 50), (30, 63));
        assert_eq!(shown[..5], ["1 fn long(", "2 a: u8,", "3 ) {", "0 …", "48 step44;"]);
    }

    #[test]
    fn lines_without_a_symbol_begin_behind_imports() {
        let text = "// Copyright me\nimport a\nimport b\nlimit = 3\nother = 4\n";
        assert_eq!(shown(text, &chunk("", 0, 3), (0, 4)), ["4 limit = 3", "5 other = 4"]);
        assert_eq!(shown(text, &chunk("", 0, 1), (0, 4))[0], "2 import a");
    }

    proptest::proptest! {
        #[test]
        fn symbol_is_always_shown(lines in proptest::collection::vec("(fn a\\(\\) \\{|x = 1|// c|import a|é|)", 1..90), head in 0..90_usize, best in 0..90_usize, end in 0..90_usize) {
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            let last = lines.len() - 1;
            let (head, best, end) = (head.min(last), best.min(last), end.min(last));
            let excerpt = Excerpt::new(&lines, &chunk("a", head, best), (best.min(end), end));
            let numbers = match excerpt.numbers.is_empty() {
                true => (best.min(end) as u64 + 1..).take(excerpt.text.split('\n').count()).collect(),
                false => excerpt.numbers,
            };
            proptest::prop_assert!(numbers.contains(&(head as u64 + 1)), "{numbers:?}");
        }
    }
}
