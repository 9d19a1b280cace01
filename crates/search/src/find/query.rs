//! Parses a question into concepts, each with the words that code may use for it.

use openagents_core::{
    terms::{self, Language},
    text::is_listed,
};
use std::{collections::HashSet, ops::Range};

/// Maximum number of concepts; only a pasted log has more, and its first lines hold the question.
pub(super) const CONCEPTS: usize = 48;

/// Maximum number of words in a quotation searched as a phrase.
const QUOTED: usize = 5;

/// Minimum length in bytes of two words that are also searched as one: `event loop` is often `eventloop`.
const JOINED: usize = 6;

/// Concepts, most significant first.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct FindQuery {
    pub(super) concepts: Vec<Concept>,
    pub(super) alternatives: Vec<Alternative>,
    pub(super) wants: Wants,
}

/// A concept of a question.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Concept {
    /// As typed.
    pub(super) word: String,
    /// Names from code and quotations weigh more than words.
    pub(super) weight: f32,
}

/// A word for a concept in code.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Alternative {
    /// Index of the concept.
    pub(super) concept: usize,
    /// The stem compared with words of the code.
    pub(super) stem: String,
    /// The search patterns: the common part of all inflections.
    pub(super) patterns: Vec<String>,
    pub(super) origin: Origin,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// The question's word or its translation.
    Asked,
    Synonym,
    /// Consecutive words joined to one name.
    Phrase,
}

/// Kinds of files that the question asks for and that otherwise rank lower.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Wants {
    pub(super) tests: bool,
    pub(super) documentation: bool,
    pub(super) examples: bool,
}

impl FindQuery {
    pub(crate) fn parse(question: &str) -> Self {
        let language = Language::detect(question);
        let mut query = Self { wants: Wants::parse(question), ..Self::default() };
        if language == Language::English {
            query.read_english(question);
        } else if language.is_unspaced() {
            query.read_unspaced(question, language);
        } else {
            query.read_translated(question, language);
        }
        query
    }

    /// Returns the searched words as typed.
    pub(crate) fn words(&self) -> impl Iterator<Item = &str> {
        self.spoken().map(|(_, word)| word)
    }

    /// Returns the concepts that are words and not phrases, with their indices.
    pub(super) fn spoken(&self) -> impl Iterator<Item = (usize, &str)> {
        let is_word = |at: usize| {
            let mut own = self.alternatives.iter().filter(|other| other.concept == at);
            own.any(|other| matches!(other.origin, Origin::Asked | Origin::Synonym))
        };
        let concepts = self.concepts.iter().enumerate().filter(move |(at, _)| is_word(*at));
        concepts.map(|(at, concept)| (at, concept.word.as_str()))
    }

    fn read_english(&mut self, question: &str) {
        let words = words(question);
        let (asked, aside): (Vec<&Word>, Vec<&Word>) =
            words.iter().filter(|word| !word.is_stop).partition(|word| word.is_asked);
        // The main clause comes first: a word in both parts gets full weight.
        for word in asked.into_iter().chain(aside) {
            let weight = if word.is_asked { 1.0 } else { ASIDE };
            self.add_word(&word.text, if word.is_identifier { IDENTIFIER } else { weight });
        }
        // Phrases come last, so that they do not displace words.
        for pair in words.windows(2).filter(|pair| pair.iter().all(|word| !word.is_stop)) {
            self.add_phrase(&[pair[0].text.clone(), pair[1].text.clone()], 1.0);
        }
        for quotation in quotations(question) {
            let parts = terms::subwords(quotation);
            if (2..=QUOTED).contains(&parts.len()) {
                self.add_phrase(&parts, QUOTATION);
            }
        }
    }

    fn read_translated(&mut self, question: &str, language: Language) {
        for raw in question.split(|c: char| !(c.is_alphanumeric() || c == '_')) {
            let word = raw.to_lowercase();
            if word.chars().count() < 2 || language.is_stop_word(&word) {
                continue;
            }
            if terms::is_identifier(raw) {
                for part in terms::subwords(raw) {
                    self.add_word(&part, IDENTIFIER);
                }
                continue;
            }
            let translations = terms::translations(&word, language);
            if translations.is_empty() {
                self.add_cognate(&word);
            }
            for (part, english) in translations {
                self.add_translation(&part, english);
            }
        }
    }

    fn read_unspaced(&mut self, question: &str, language: Language) {
        for raw in
            question.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).filter(|raw| raw.len() > 1)
        {
            let weight = if terms::is_identifier(raw) { IDENTIFIER } else { 1.0 };
            for part in terms::subwords(raw) {
                self.add_word(&part, weight);
            }
        }
        for (word, english) in terms::translations_within(question, language) {
            self.add_translation(&word, english);
        }
        // Matches comments in the same language.
        let letters: Vec<char> = question.chars().collect();
        for pair in letters
            .windows(2)
            .filter(|pair| pair.iter().all(|c| terms::is_han(*c) || terms::is_kana(*c) && *c >= '\u{30a0}'))
        {
            let pair: String = pair.iter().collect();
            self.add(&pair, BIGRAM, vec![(pair.clone(), Origin::Asked)]);
        }
    }

    fn add_word(&mut self, word: &str, weight: f32) {
        let others = terms::synonyms(&Language::English.stem(word)).iter();
        let others = others.map(|other| ((*other).to_owned(), Origin::Synonym));
        self.add(word, weight, std::iter::once((word.to_owned(), Origin::Asked)).chain(others).collect());
    }

    /// Adds a word by its English translations, most common first.
    fn add_translation(&mut self, word: &str, english: &[&str]) {
        let known = english
            .iter()
            .enumerate()
            .map(|(at, other)| ((*other).to_owned(), if at == 0 { Origin::Asked } else { Origin::Synonym }));
        let first = english.first().map_or(String::new(), |first| Language::English.stem(first));
        let more = terms::synonyms(&first).iter().map(|other| ((*other).to_owned(), Origin::Synonym));
        self.add(word, 1.0, known.chain(more).collect());
    }

    /// Adds a word without a translation: many differ from English only in their ending.
    fn add_cognate(&mut self, word: &str) {
        let plain = terms::without_accents(word);
        if !plain.is_ascii() || plain.len() < 4 {
            return;
        }
        let shared = if plain.len() >= 8 { plain[..6].to_owned() } else { plain.clone() };
        if let Some(added) = self.add(word, COGNATE, vec![(plain, Origin::Asked)]) {
            added.patterns = vec![shared];
        }
    }

    fn add_phrase(&mut self, words: &[String], weight: f32) {
        let flat = words.concat();
        let Some((last, first)) = words.split_last().filter(|_| flat.len() >= JOINED) else { return };
        if let Some(added) = self.add(&words.join(" "), weight, vec![(flat, Origin::Phrase)]) {
            let end = shared(last, &Language::English.stem(last));
            let pattern = |between: &&str| format!("{}{between}{end}", first.join(between));
            added.patterns = ["", "_", "-", " "].iter().map(pattern).collect();
        }
    }

    /// Adds a concept and returns its first alternative; `None` if its word is known or there are too many concepts.
    fn add(&mut self, word: &str, weight: f32, ways: Vec<(String, Origin)>) -> Option<&mut Alternative> {
        if self.concepts.len() == CONCEPTS {
            return None;
        }
        let concept = self.concepts.len();
        let mut known: HashSet<String> = self.alternatives.iter().map(|other| other.stem.clone()).collect();
        let mut added = Vec::new();
        for (at, (way, origin)) in ways.into_iter().enumerate() {
            let stem = if origin == Origin::Phrase { way.clone() } else { Language::English.stem(&way) };
            if stem.is_empty() || !known.insert(stem.clone()) {
                if at == 0 {
                    return None;
                }
                continue;
            }
            let patterns = vec![shared(&way, &stem)];
            added.push(Alternative { concept, stem, patterns, origin });
        }
        let first = self.alternatives.len();
        self.alternatives.extend(added);
        self.concepts.push(Concept { word: word.to_owned(), weight });
        self.alternatives.get_mut(first)
    }
}

/// Weight of a name from code.
const IDENTIFIER: f32 = 1.3;
const QUOTATION: f32 = 2.0;
/// Weight of a word outside of the main clause; tuned like the constants in `matcher`.
const ASIDE: f32 = 0.4;
/// Weight of a possible cognate.
const COGNATE: f32 = 0.8;
/// Weight of a character pair of an unknown word.
const BIGRAM: f32 = 0.5;

struct Word {
    text: String,
    is_stop: bool,
    is_identifier: bool,
    /// It is in the main clause of the question.
    is_asked: bool,
}

/// Returns the words of an English question in order; an identifier is followed by its parts.
fn words(question: &str) -> Vec<Word> {
    let asking = part(question);
    let parts = [(0..asking.start, false), (asking.clone(), true), (asking.end..question.len(), false)];
    parts.into_iter().flat_map(|(range, is_asked)| words_of(&question[range], is_asked)).collect()
}

fn words_of(text: &str, is_asked: bool) -> Vec<Word> {
    let mut words = Vec::new();
    for raw in text.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|raw| !raw.is_empty()) {
        let is_identifier = terms::is_identifier(raw);
        let parts = terms::subwords(raw);
        if is_identifier && parts.len() > 1 {
            words.push(Word { text: parts.concat(), is_stop: false, is_identifier, is_asked });
        }
        words.extend(parts.into_iter().map(|text| Word {
            is_stop: Language::English.is_stop_word(&text) || text.len() < 2,
            text,
            is_identifier,
            is_asked,
        }));
    }
    words
}

/// Returns the texts in quotation marks or back-ticks.
fn quotations(question: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for (open, close) in [('"', '"'), ('`', '`'), ('\'', '\''), ('“', '”'), ('„', '“'), ('«', '»')]
    {
        let mut rest = question;
        while let Some(at) = rest.find(open) {
            let after = &rest[at + open.len_utf8()..];
            // The apostrophe in "doesn't" is not a quotation mark.
            let opens = !rest[..at].ends_with(char::is_alphanumeric);
            match after.find(close).filter(|_| opens) {
                Some(end) => {
                    found.push(&after[..end]);
                    rest = &after[end + close.len_utf8()..];
                }
                None => rest = after,
            }
        }
    }
    found
}

/// Returns the common prefix of a word and its stem, which all inflections share.
fn shared(word: &str, stem: &str) -> String {
    let common = word.char_indices().zip(stem.chars()).take_while(|((_, a), b)| a == b);
    let end = common.last().map_or(0, |((at, letter), _)| at + letter.len_utf8());
    word[..end].to_owned()
}

impl Wants {
    fn parse(question: &str) -> Self {
        let lower = question.to_lowercase();
        let has = |wanted: &str| {
            lower.split(|c: char| !c.is_alphanumeric()).any(|word| is_listed(word, wanted))
                || wanted.split('|').any(|word| !word.is_ascii() && lower.contains(word))
        };
        Self {
            tests: has("test|tests|tested|testing|prueba|pruebas|テスト|测试"),
            documentation: has(
                "docs|readme|documentation|documented|manual|changelog|dokumentation|documentación|ドキュメント|文档",
            ),
            examples: !lower.contains("for example")
                && has("example|examples|sample|demo|beispiele|ejemplos|サンプル|示例"),
        }
    }
}

// Finds the main clause of an English question. "When a redirect fails, how is it tried again without losing the
// body?" asks how it is tried again; the rest is a circumstance or an exclusion.

// Words separated by `|`.

/// First words of a question.
const QUESTION: &str = "are|can|could|did|do|does|find|how|is|should|show|what|when|where|which|who|why|will";

/// After "when", these words start a question and not a circumstance.
const AFTER_WHEN: &str = "are|can|did|do|does|has|is|should|was|will";

/// First words of a circumstance after a comma.
const BEHIND_COMMA: &str =
    "after|although|as|because|before|but|even|given|if|so|though|unless|when|while|without";

/// Words that start a circumstance or an exclusion anywhere.
const ASIDES: &str = " although | even after | even if | even though | even when | instead of | rather than | so that | unless | without ";

/// Minimum length of a part in bytes.
const SHORTEST: usize = 15;

/// Returns the byte range of the main clause, or of the whole question if there is none.
pub(super) fn part(question: &str) -> Range<usize> {
    let lower = question.to_ascii_lowercase();
    let commas = || lower.match_indices(", ").map(|(at, _)| at).filter(|at| *at >= SHORTEST);
    let start = match begins_a_question(&lower) {
        true => 0,
        false => commas().map(|at| at + 2).find(|at| begins_a_question(&lower[*at..])).unwrap_or(0),
    };
    let behind_comma = commas().filter(|at| is_listed(first_word(&lower[at + 2..]), BEHIND_COMMA));
    let elsewhere = ASIDES.split('|').flat_map(|aside| lower.match_indices(aside).map(|(at, _)| at));
    let end = behind_comma.chain(elsewhere).filter(|at| *at >= start + SHORTEST).min();
    start..end.unwrap_or(question.len())
}

fn first_word(text: &str) -> &str {
    text.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default()
}

fn begins_a_question(text: &str) -> bool {
    let mut words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    match words.next() {
        Some("when") => words.next().is_some_and(|word| is_listed(word, AFTER_WHEN)),
        Some(word) => is_listed(word, QUESTION),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn question_words_are_split_from_context() {
        for (question, asks) in [
            ("Where are redirects followed?", "Where are redirects followed?"),
            ("How is the body kept, even after a redirect?", "How is the body kept"),
            ("When a request fails, how often is it tried again?", "how often is it tried again?"),
            ("In the desktop window, where is the zoom level kept?", "where is the zoom level kept?"),
            ("When I open a workspace, a folder or a file, what is shown?", "what is shown?"),
            ("Where is the cache read without a lock?", "Where is the cache read"),
        ] {
            assert_eq!(&question[part(question)], asks, "{question}");
        }
        for whole in [
            "",
            "Redis, where is it used?",
            "When does it time out?",
            "When is the token refreshed, and where is it stored?",
            "Since when is the lock shared, and why?",
            "Where are the parser, the lexer and the printer defined?",
            "Where do we check that even rows are striped?",
        ] {
            assert_eq!(part(whole), 0..whole.len(), "{whole}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_has_a_part(question in "(if |how |when |[a-zé認, ]|without ){0,40}") {
            let _ = &question[part(&question)];
        }
    }
}
