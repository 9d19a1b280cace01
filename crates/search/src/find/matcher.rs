//! Finds all words of a query in a text in one pass.

use super::{
    query::{FindQuery, Origin},
    role::Role,
};
use aho_corasick::AhoCorasick;
use openagents_core::terms::Language;
use std::collections::HashMap;

/// Maximum number of hits per file. A file with more is a table or a log, and its beginning is representative.
const HITS: usize = 20_000;

/// Longest word of code in bytes; longer runs are data.
const WORD: usize = 40;

/// Shortest pattern in bytes that may match at the start of or inside a longer word.
const PART: usize = 4;

/// Maximum number of words whose stems are cached per pass.
const STEMS: usize = 50_000;

/// An occurrence of a query word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hit {
    /// Byte offset.
    pub(super) at: usize,
    pub(super) alternative: u16,
    pub(super) fit: Fit,
}

/// Quality of a match, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fit {
    /// The same word, apart from inflection.
    Word,
    /// A prefix of a longer word: `mail` in `mailer`.
    Beginning,
    /// A part of a longer word: `mail` in `sendmail`.
    Inside,
}

/// A compiled query.
#[derive(Debug)]
pub(super) struct Matcher {
    automaton: AhoCorasick,
    /// Index of the alternative, by pattern.
    owners: Vec<u16>,
    stems: Vec<String>,
    are_phrases: Vec<bool>,
}

/// Cached stems of one thread.
pub(super) type Stems = HashMap<Box<[u8]>, Box<str>>;

impl Matcher {
    /// Returns `None` for a query without words.
    pub(super) fn new(query: &FindQuery) -> Option<Self> {
        let patterns = || {
            let alternatives = query.alternatives.iter().enumerate();
            alternatives
                .flat_map(|(at, other)| other.patterns.iter().map(move |pattern| (at as u16, pattern)))
        };
        let automaton =
            AhoCorasick::builder().ascii_case_insensitive(true).build(patterns().map(|(_, pattern)| pattern));
        Some(Self {
            automaton: automaton.ok().filter(|automaton| automaton.patterns_len() > 0)?,
            owners: patterns().map(|(at, _)| at).collect(),
            stems: query.alternatives.iter().map(|other| other.stem.clone()).collect(),
            are_phrases: query.alternatives.iter().map(|other| other.origin == Origin::Phrase).collect(),
        })
    }

    /// Returns the hits in a text, ordered by their ends.
    pub(super) fn hits(&self, text: &[u8], stems: &mut Stems) -> Vec<Hit> {
        let mut hits = Vec::new();
        for found in self.automaton.find_overlapping_iter(text) {
            let alternative = self.owners[found.pattern().as_usize()];
            if let Some(fit) = self.fit(text, found.range(), alternative as usize, stems) {
                hits.push(Hit { at: found.start(), alternative, fit });
                if hits.len() == HITS {
                    break;
                }
            }
        }
        hits
    }

    fn fit(
        &self,
        text: &[u8],
        found: std::ops::Range<usize>,
        alternative: usize,
        stems: &mut Stems,
    ) -> Option<Fit> {
        let begins = begins_word(text, found.start);
        if self.are_phrases[alternative] {
            return begins.then_some(Fit::Word);
        }
        let is_long = found.len() >= PART;
        if !begins {
            return is_long.then_some(Fit::Inside);
        }
        let end = word_end(text, &found);
        let word = text[found.start..end].to_ascii_lowercase();
        if word.len() > WORD {
            return None;
        }
        let stem = &self.stems[alternative];
        if word == stem.as_bytes() || stem_of(&word, stems) == stem {
            return Some(Fit::Word);
        }
        is_long.then_some(Fit::Beginning)
    }
}

fn stem_of<'a>(word: &[u8], stems: &'a mut Stems) -> &'a str {
    if stems.len() >= STEMS {
        stems.clear();
    }
    stems.entry(word.into()).or_insert_with(|| Language::English.stem(&String::from_utf8_lossy(word)).into())
}

/// Returns whether a word or a word of an identifier starts at `at`.
fn begins_word(text: &[u8], at: usize) -> bool {
    let Some(before) = at.checked_sub(1).map(|before| text[before]) else { return true };
    let (here, after) = (text[at], text.get(at + 1));
    // Letters beyond ASCII are treated as caseless; in scripts without spaces a word may start anywhere.
    !here.is_ascii()
        || !(before.is_ascii_alphanumeric() || before >= 0x80)
        || before.is_ascii_lowercase() && here.is_ascii_uppercase()
        || before.is_ascii_digit() && !here.is_ascii_digit()
        || before.is_ascii_uppercase()
            && here.is_ascii_uppercase()
            && after.is_some_and(u8::is_ascii_lowercase)
}

/// Returns the end of the word that starts with `found`.
fn word_end(text: &[u8], found: &std::ops::Range<usize>) -> usize {
    let is_upper = |at: usize| text.get(at).is_some_and(u8::is_ascii_uppercase);
    // `HTTPServer`: an all-caps word ends before the capital of the next word; other words end at the next capital.
    let in_capitals = is_upper(found.start) && is_upper(found.start + 1);
    let mut end = found.end;
    while let Some(letter) = text.get(end).filter(|letter| letter.is_ascii_alphabetic()) {
        let ends = if in_capitals { letter.is_ascii_lowercase() } else { letter.is_ascii_uppercase() };
        if ends {
            break;
        }
        end += 1;
    }
    end
}

// The constants of the ranking. They were tuned by random search on five of the ten projects of a benchmark made of
// real changes (`make bench-answers`) and on a second set of questions about twelve other projects. The other five
// projects were not used for tuning, but the features were chosen with the results of all ten in view: only projects
// outside of both sets are an independent check.

/// BM25 over definitions: saturation of repeated words, and the penalty of long chunks.
pub(super) const CHUNK: Bm25 = Bm25 { k1: 1.73, b: 0.173 };
/// BM25 over whole files.
pub(super) const FILE: Bm25 = Bm25 { k1: 1.9, b: 0.32 };

/// Share of the whole file in its score; the rest comes from its best chunks.
pub(super) const WHOLE_FILE: f32 = 0.13;
/// Share of the second and third best chunks of a file.
pub(super) const NEXT_CHUNKS: f32 = 0.426;
/// Exponent of a chunk's or file's share of the question.
pub(super) const COVERAGE: f32 = 0.42;
/// Bonus for words on the same line, as a share of their rarity.
pub(super) const NEARNESS: f32 = 0.4;
/// Exponent of word rarity: below 1, many common words count as much as a few rare ones.
pub(super) const RARITY: f32 = 0.622;
/// Weight of a concept's further alternatives, after the best.
pub(super) const OTHER_WAYS: f32 = 0.194;
/// Boost of larger files, which change more often.
pub(super) const SIZE: f32 = 0.057;

/// Occurrences credited for a word in the definition's name.
pub(super) const SYMBOL: f32 = 2.5;
/// Occurrences credited for a word in the parent definition's name.
pub(super) const PARENT: f32 = 1.9;
/// Occurrences credited for a word in the file name.
pub(super) const FILE_NAME: f32 = 3.56;
/// Occurrences credited for a word in the folder path.
pub(super) const FOLDER: f32 = 0.54;

/// Factor of a chunk of comments, which explains code elsewhere.
pub(super) const ONLY_COMMENT: f32 = 0.11;
/// Factor of a test next to the code that it tests; not tuned, but set like other chunks without behaviour.
pub(super) const TEST_IN_CODE: f32 = 0.2;
/// Share of comment lines above which a chunk counts as a comment.
pub(super) const COMMENT_SHARE: f32 = 0.7;

/// Factor of a changed copy of a file, relative to the better of the two; not tuned, because the benchmark projects
/// have no copies.
pub(super) const COPY: f32 = 0.5;

/// Factor of each further chunk of a file.
pub(super) const SAME_FILE: f32 = 0.9;

/// The two parameters of BM25.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bm25 {
    k1: f32,
    b: f32,
}

impl Bm25 {
    /// Returns the contribution of a word with weighted `frequency` in a text of `length` times the mean length.
    pub(super) fn saturated(self, frequency: f32, length: f32) -> f32 {
        frequency * (self.k1 + 1.0) / (frequency + self.k1 * (1.0 - self.b + self.b * length))
    }

    /// Returns the upper bound of [`saturated`](Self::saturated).
    pub(super) fn most(self) -> f32 {
        self.k1 + 1.0
    }
}

/// Returns the weight of one occurrence.
pub(super) fn fit(fit: Fit) -> f32 {
    match fit {
        Fit::Word => 0.675,
        Fit::Beginning => 0.405,
        Fit::Inside => 0.234,
    }
}

/// Returns the trust in an alternative; `rank` is its position among the synonyms of its concept.
pub(super) fn origin(origin: Origin, rank: usize) -> f32 {
    match origin {
        Origin::Asked => 1.0,
        Origin::Synonym => 0.24 * 0.935_f32.powi(rank as i32),
        Origin::Phrase => 0.194,
    }
}

/// Returns the factor of a file's role.
pub(super) fn role(role: Role, wants: crate::find::query::Wants) -> f32 {
    match role {
        Role::Test if wants.tests => WANTED,
        Role::Documentation if wants.documentation => WANTED,
        Role::Example if wants.examples => WANTED,
        Role::Code => 1.0,
        Role::Declarations => 0.29,
        Role::Test => 0.04,
        Role::Documentation => 0.07,
        Role::Other => 0.08,
        Role::Example => 0.035,
        Role::Generated => 0.1,
        Role::Benchmark => 0.026,
    }
}

/// Factor of files of a kind that the question asks for.
const WANTED: f32 = 1.2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_match_identifiers_and_inflections() {
        let matcher = Matcher::new(&FindQuery::parse("redirect")).unwrap();
        let rows = [
            ("follow_redirects(x)", Some(Fit::Word)),
            ("maxRedirects", Some(Fit::Word)),
            ("REDIRECTED", Some(Fit::Word)),
            ("redirectory", Some(Fit::Beginning)),
            ("noredirect", Some(Fit::Inside)),
            ("direct", None),
        ];
        for (text, expected) in rows {
            let hits = matcher.hits(text.as_bytes(), &mut Stems::new());
            let own = hits.iter().filter(|hit| hit.alternative == 0);
            assert_eq!(own.map(|hit| hit.fit).min(), expected, "{text}");
        }
    }

    #[test]
    fn two_words_match_one_name() {
        let query = FindQuery::parse("Where does the event loop start?");
        let phrase = query.alternatives.iter().position(|other| other.stem == "eventloop").unwrap();
        let matcher = Matcher::new(&query).unwrap();
        for text in ["EventLoop", "event_loop", "event-loop", "the event loop", "EVENTLOOP_X"] {
            let hits = matcher.hits(text.as_bytes(), &mut Stems::new());
            assert!(hits.iter().any(|hit| hit.alternative as usize == phrase), "{text}");
        }
    }

    #[test]
    fn question_without_words_has_no_matcher() {
        assert!(Matcher::new(&FindQuery::parse("¿?")).is_none());
        assert!(Matcher::new(&FindQuery::parse("where is it?")).is_none());
    }
}
