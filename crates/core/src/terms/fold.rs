//! Folds text for comparison: the same in every normal form, width and case, with straight quotes and hyphens.
//!
//! Folding is compatibility composition (NFKC, Unicode Standard Annex 15), then case folding. Diacritics count: `cafe`
//! is not `café`. Runs of white space become one space; characters without a glyph, such as a byte order mark, are
//! removed.

use std::{borrow::Cow, ops::Range};
use unicode_normalization::{
    IsNormalized, UnicodeNormalization,
    char::{canonical_combining_class, decompose_compatible},
    is_nfkc_quick,
};

/// A text folded for comparison, and the mapping back to its source.
#[derive(Debug, Clone, Default)]
pub struct FoldedText {
    text: String,
    /// In order. The text before the first step is the same in the source, apart from case.
    steps: Vec<Step>,
}

/// A position in the text and in the source.
#[derive(Debug, Clone, Copy)]
struct Step {
    text: usize,
    source: usize,
    /// Up to the next step, both have characters of the same lengths in the same order. Normalization reorders marks.
    is_alike: bool,
}

impl FoldedText {
    /// Folds a text: case, width and normal form of Unicode, runs of white space.
    pub fn new(source: &str) -> Self {
        let mut folded = Self { text: String::with_capacity(source.len()), steps: Vec::new() };
        let (mut at, mut after_space) = (0, false);
        while at < source.len() {
            let end = cluster_end(source, at);
            let (cluster, before) = (&source[at..end], folded.text.len());
            let is_space = cluster.chars().all(char::is_whitespace);
            match is_space {
                true if after_space => {}
                true => folded.text.push(' '),
                false => push_folded(cluster, &mut folded.text),
            }
            after_space = is_space;
            let own = &folded.text[before..];
            let has_order =
                cluster.chars().nth(1).is_none() || own.chars().eq(cluster.chars().flat_map(folded_char));
            if !has_order || !own.chars().map(char::len_utf8).eq(cluster.chars().map(char::len_utf8)) {
                folded.step(Step { text: before, source: at, is_alike: false });
                folded.step(Step { text: folded.text.len(), source: end, is_alike: true });
            }
            at = end;
        }
        folded
    }

    fn step(&mut self, step: Step) {
        match self.steps.last_mut() {
            // Both steps are at the same position.
            Some(last) if (last.text, last.source) == (step.text, step.source) => *last = step,
            _ => self.steps.push(step),
        }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the range of the source that a range of the text comes from: whole characters with their marks.
    pub fn source(&self, range: Range<usize>) -> Range<usize> {
        let begin = Step { text: 0, source: 0, is_alike: true };
        let before = |next: usize| next.checked_sub(1).map_or(begin, |last| self.steps[last]);
        let of_start = before(self.steps.partition_point(|step| step.text <= range.start));
        let next = self.steps.partition_point(|step| step.text < range.end);
        let of_end = before(next);
        // Positions inside a changed character cannot be mapped back: the range covers all of it.
        let start = of_start.source + if of_start.is_alike { range.start - of_start.text } else { 0 };
        let end = match self.steps.get(next) {
            Some(behind) if !of_end.is_alike => behind.source,
            _ => of_end.source + (range.end - of_end.text),
        };
        start..end.max(start)
    }
}

/// Normalizes a text before its words are read. Keeps the case.
pub fn composed(text: &str) -> Cow<'_, str> {
    let changes = |letter: char| is_without_glyph(letter) || straight(letter) != letter;
    let is_plain =
        text.is_ascii() || is_nfkc_quick(text.chars()) == IsNormalized::Yes && !text.contains(changes);
    if is_plain {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.nfkc().filter(|letter| !is_without_glyph(*letter)).map(straight).collect())
}

pub fn fold_case(word: &str) -> Cow<'_, str> {
    if word.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase()) {
        return Cow::Borrowed(word);
    }
    Cow::Owned(word.chars().flat_map(folded_char).nfc().collect())
}

/// Returns the end of the character at `start` with everything that may compose with it.
fn cluster_end(text: &str, start: usize) -> usize {
    let mut letters = text[start..].char_indices();
    letters.next();
    letters.find(|(_, letter)| !continues(*letter)).map_or(text.len(), |(at, _)| start + at)
}

/// Returns whether a character may compose with the one before it.
fn continues(letter: char) -> bool {
    if letter.is_ascii() {
        return false;
    }
    let mut first = None;
    decompose_compatible(letter, |part| first = first.or(Some(part)));
    first.is_some_and(|first| {
        canonical_combining_class(first) != 0 || is_nfkc_quick(std::iter::once(first)) == IsNormalized::Maybe
    })
}

fn push_folded(cluster: &str, text: &mut String) {
    if let [byte] = cluster.as_bytes() {
        text.push(char::from(byte.to_ascii_lowercase()));
        return;
    }
    let letters = cluster.nfkc().filter(|letter| !is_without_glyph(*letter)).map(straight);
    text.extend(letters.flat_map(folded_char).nfc());
}

fn folded_char(letter: char) -> impl Iterator<Item = char> {
    letter.to_uppercase().flat_map(char::to_lowercase)
}

/// Returns the plain form of typographic quotes and hyphens, which editors substitute for typed ones, and of the dotted
/// `İ`, which only Turkish keyboards have.
fn straight(letter: char) -> char {
    match letter {
        '\u{2018}' | '\u{2019}' | '\u{201b}' | '\u{02bc}' => '\'',
        '\u{201c}' | '\u{201d}' | '\u{201f}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{130}' => 'I',
        letter => letter,
    }
}

/// Returns whether a character is invisible and only affects how others are shown: a soft hyphen, joiners, variation
/// selectors, a byte order mark.
fn is_without_glyph(letter: char) -> bool {
    matches!(
        letter,
        '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
    )
}

/// Returns the words of a text in lower case: `parseHTTPHeader_v2` gives `parse`, `http`, `header`, `v`, `2`.
pub fn subwords(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut before = None;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let begins = before.is_some_and(|before| begins_word(before, letter, letters.peek().copied()));
        if (begins || !letter.is_alphanumeric()) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if letter.is_alphanumeric() {
            word.extend(letter.to_lowercase());
        }
        before = Some(letter);
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// Returns whether a word of an identifier starts at `letter`, between `before` and `after`.
fn begins_word(before: char, letter: char, after: Option<char>) -> bool {
    let hump = before.is_lowercase() && letter.is_uppercase();
    // The last capital of `HTTPServer` belongs to the following word.
    let acronym_ends =
        before.is_uppercase() && letter.is_uppercase() && after.is_some_and(char::is_lowercase);
    hump || acronym_ends || before.is_ascii_digit() != letter.is_ascii_digit()
}

/// Returns whether a word is probably a name from code: `snake_case`, `camelCase`, `a::b`, `x.y`.
pub fn is_identifier(word: &str) -> bool {
    let has_hump = word.chars().skip(1).any(char::is_uppercase) && word.chars().any(char::is_lowercase);
    word.contains('_') || word.contains("::") || has_hump
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn folded(text: &str) -> String {
        FoldedText::new(text).text
    }

    #[test]
    fn unicode_forms_fold_equal() {
        for (text, expected) in [
            ("Größe", "grösse"),
            ("STRASSE straße", "strasse strasse"),
            ("Cafe\u{301} CAFÉ", "café café"),
            ("ＦＵＬＬ　ｗｉｄｔｈ", "full width"),
            ("ﾊﾞｸﾞ バグ", "バグ バグ"),
            ("\u{1112}\u{1161}\u{11ab}글", "한글"),
            ("ΟΔΌΣ οδός", "οδόσ οδόσ"),
            ("ﬁle ①", "file 1"),
            ("don’t “quote” a–b", "don't \"quote\" a-b"),
            ("a \n\t b\u{a0}c", "a b c"),
            ("\u{feff}so\u{ad}ft", "soft"),
            ("İstanbul ISPARTA", "istanbul isparta"),
            ("हिन्दी น้ำ ភាសា", "हिन्दी น\u{e49}\u{e4d}\u{e32} ភាសា"),
            (r#"C:\Users\Demo [X] {y} "*" $HOME"#, r#"c:\users\demo [x] {y} "*" $home"#),
        ] {
            assert_eq!(folded(text), expected, "{text}");
        }
        assert_ne!(folded("cafe"), folded("café"));
    }

    #[test]
    fn match_maps_back_to_source() {
        for (source, found, expected) in [
            ("the ﬁle is", "file", "ﬁle"),
            ("the ﬁle is", "ile", "ﬁle"),
            ("x Cafe\u{301} y", "café", "Cafe\u{301}"),
            ("wait…for it", "for", "for"),
            ("wait…for it", ".f", "…f"),
            ("so\u{ad}ft ware", "soft", "so\u{ad}ft"),
            ("a\u{ad} b", "a", "a"),
            ("one \n two", "e t", "e \n t"),
            ("ＡＢＣ", "b", "Ｂ"),
            ("Größe", "öss", "öß"),
            // Two marks that normalization puts in the opposite order.
            ("\u{11370}\u{11943}a", "\u{11943}", "\u{11370}\u{11943}"),
        ] {
            let folded = FoldedText::new(source);
            let at = folded.text().find(found).unwrap_or_else(|| panic!("{found} in {:?}", folded.text()));
            assert_eq!(&source[folded.source(at..at + found.len())], expected, "{source}");
        }
    }

    proptest! {
        #[test]
        fn normal_forms_fold_to_same_text(text in any::<String>()) {
            let expected = folded(&text);
            prop_assert_eq!(&folded(&text.nfc().collect::<String>()), &expected);
            prop_assert_eq!(&folded(&text.nfd().collect::<String>()), &expected);
            prop_assert_eq!(&folded(&text.nfkc().collect::<String>()), &expected);
            prop_assert_eq!(&folded(&text.nfkd().collect::<String>()), &expected);
        }

        #[test]
        fn every_range_maps_back_to_its_characters(text in any::<String>(), start in any::<prop::sample::Index>(), end in any::<prop::sample::Index>()) {
            let folded = FoldedText::new(&text);
            let places: Vec<usize> = folded.text().char_indices().map(|(at, _)| at).chain([folded.text().len()]).collect();
            let (start, end) = (places[start.index(places.len())], places[end.index(places.len())]);
            let (start, end) = (start.min(end), start.max(end));
            let part = &text[folded.source(start..end)];
            prop_assert!(FoldedText::new(part).text().contains(&folded.text()[start..end]), "{:?}", part);
        }
    }

    #[test]
    fn subwords_splits_identifiers() {
        let rows: [(&str, &[&str]); 7] = [
            ("followRedirects", &["follow", "redirects"]),
            ("HTTPServer::new_v2", &["http", "server", "new", "v", "2"]),
            ("follow-redirects.max", &["follow", "redirects", "max"]),
            ("SCREAMING_CASE", &["screaming", "case"]),
            ("Größe der Fenster", &["größe", "der", "fenster"]),
            ("utf8", &["utf", "8"]),
            (" … ", &[]),
        ];
        for (text, expected) in rows {
            assert_eq!(subwords(text), expected, "{text}");
        }
    }

    #[test]
    fn is_identifier_rejects_words() {
        for word in ["snake_case", "camelCase", "a::b", "McDonald"] {
            assert!(is_identifier(word), "{word}");
        }
        for word in ["Word", "HTTP", "x", "proxy-server"] {
            assert!(!is_identifier(word), "{word}");
        }
    }
}
