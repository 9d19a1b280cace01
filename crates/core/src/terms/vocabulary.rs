//! Vocabulary: translations from five languages to the English of identifiers, and English synonyms in code. Each table
//! names its source in its header.

use crate::limits::terms as limits;
use rust_stemmers::{Algorithm, Stemmer};
use std::{
    collections::{HashMap, HashSet},
    sync::LazyLock,
};
use stop_words::LANGUAGE;
use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

const SYNONYMS: &str = include_str!("synonyms.tsv");
const TRANSLATIONS: &str = include_str!("translations.tsv");

static ENGLISH: LazyLock<HashMap<String, Vec<&'static str>>> = LazyLock::new(|| {
    let mut words: HashMap<String, Vec<&'static str>> = HashMap::new();
    for (word, others) in rows(SYNONYMS).filter_map(|row| row.split_once('\t')) {
        words.entry(Language::English.stem(word)).or_default().extend(others.split(',').map(str::trim));
    }
    // Translations of one foreign word are approximate synonyms.
    for row in rows(TRANSLATIONS).skip(1) {
        let group: Vec<&str> = row.split('\t').next().unwrap_or_default().split('|').map(str::trim).collect();
        for word in &group {
            let known = words.entry(Language::English.stem(word)).or_default();
            for other in &group {
                if other != word && !known.contains(other) {
                    known.push(other);
                }
            }
        }
    }
    words
});

/// In the order of [`Language`], after English.
static DICTIONARIES: [LazyLock<Dictionary>; 5] = [
    LazyLock::new(|| Dictionary::load(Language::German)),
    LazyLock::new(|| Dictionary::load(Language::Spanish)),
    LazyLock::new(|| Dictionary::load(Language::French)),
    LazyLock::new(|| Dictionary::load(Language::Japanese)),
    LazyLock::new(|| Dictionary::load(Language::Chinese)),
];

/// The words of one language by stem, with their English translations.
struct Dictionary {
    words: HashMap<String, &'static [&'static str]>,
    /// Longest first, so that the longest match wins.
    longest_first: Vec<String>,
}

impl Dictionary {
    fn load(language: Language) -> Self {
        let mut words: HashMap<String, &'static [&'static str]> = HashMap::new();
        // The first row is the header.
        for row in rows(TRANSLATIONS).skip(1) {
            let cells: Vec<&str> = row.split('\t').collect();
            let (Some(english), Some(own)) = (cells.first(), cells.get(language as usize)) else { continue };
            let english: &'static [&'static str] =
                english.split('|').map(str::trim).collect::<Vec<_>>().leak();
            for word in own.split('|').map(str::trim).filter(|word| !word.is_empty()) {
                words.entry(language.stem(&word.to_lowercase())).or_insert(english);
            }
        }
        let mut longest_first: Vec<String> = words.keys().cloned().collect();
        let length = |word: &String| word.chars().count();
        longest_first.sort_by(|a, b| length(b).cmp(&length(a)).then_with(|| a.cmp(b)));
        Self { words, longest_first }
    }
}

fn rows(table: &'static str) -> impl Iterator<Item = &'static str> {
    table.lines().filter(|row| !row.is_empty() && !row.starts_with('#'))
}

fn dictionary(language: Language) -> Option<&'static Dictionary> {
    let column = language as usize;
    Some(DICTIONARIES.get(column.checked_sub(1)?)?)
}

/// Returns the synonyms of an English stem in code, most common first.
pub fn synonyms(stem: &str) -> &'static [&'static str] {
    ENGLISH.get(stem).map_or(&[], Vec::as_slice)
}

/// Returns the English translations of a lower-case word; for a compound, those of its parts. Each comes with the
/// matched part.
pub fn translations(word: &str, language: Language) -> Vec<(String, &'static [&'static str])> {
    let Some(dictionary) = dictionary(language) else { return Vec::new() };
    let stem = language.stem(word);
    if let Some(english) = dictionary.words.get(&stem) {
        return vec![(word.to_owned(), english)];
    }
    let close = |known: &&String| {
        let (short, long) = if known.len() < stem.len() { (*known, &stem) } else { (&stem, *known) };
        short.len() > limits::PART && long.len() <= short.len() + limits::ENDING && long.starts_with(short)
    };
    if let Some(known) = dictionary.longest_first.iter().find(close) {
        return vec![(word.to_owned(), dictionary.words[known])];
    }
    let mut found = Vec::new();
    if language == Language::German {
        let mut rest = without_accents(word);
        for known in dictionary.longest_first.iter().filter(|known| known.len() >= limits::PART) {
            if let Some(at) = rest.find(known.as_str()) {
                found.push((known.clone(), dictionary.words[known]));
                rest.replace_range(at..at + known.len(), " ");
            }
        }
    }
    found
}

/// Returns the listed words of a text without spaces, the longest at each position, with their English translations.
pub fn translations_within(text: &str, language: Language) -> Vec<(String, &'static [&'static str])> {
    let Some(dictionary) = dictionary(language) else { return Vec::new() };
    let letters: Vec<char> = text.chars().collect();
    let longest = dictionary.longest_first.first().map_or(0, |word| word.chars().count());
    let (mut at, mut found, mut seen) = (0, Vec::new(), HashSet::new());
    while at < letters.len() {
        let most = longest.min(letters.len() - at);
        // A single character is too often part of another word.
        let known = (2..=most).rev().find_map(|length| {
            let word: String = letters[at..at + length].iter().collect();
            dictionary.words.get(&word).map(|english| (length, word, *english))
        });
        match known {
            Some((length, word, english)) => {
                at += length;
                if seen.insert(word.clone()) {
                    found.push((word, english));
                }
            }
            None => at += 1,
        }
    }
    found
}

/// A language of questions. Code is assumed to be English. The order matches the word tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Language {
    English,
    German,
    Spanish,
    French,
    Japanese,
    Chinese,
}

/// Common words of questions that are missing from lists of function words.
const ASKING: &str = "also case cases code codebase decide decided decides determine determined done even file find finds \
    get gets getting give given go goes going got handle handled happen happens happened implementation implemented \
    instead just kind kinds let like long look looks made make makes making many much need needs new old one ones \
    project really repo repository right same say says set show shows something still sure take taken takes tell thing \
    things two use used uses using want wants way ways whether without work working works";

/// In the order of [`Language`].
static STOP_WORDS: [LazyLock<HashSet<&'static str>>; 4] = [
    LazyLock::new(|| listed(LANGUAGE::English).chain(ASKING.split(' ')).collect()),
    LazyLock::new(|| listed(LANGUAGE::German).collect()),
    LazyLock::new(|| listed(LANGUAGE::Spanish).collect()),
    LazyLock::new(|| listed(LANGUAGE::French).collect()),
];

fn listed(language: LANGUAGE) -> impl Iterator<Item = &'static str> {
    stop_words::get(language).iter().copied()
}

impl Language {
    /// Returns the language of a question; English if unsure. Uses function words, because letter statistics fail on
    /// short texts that are partly identifiers.
    pub fn detect(text: &str) -> Self {
        if text.chars().any(is_kana) {
            return Self::Japanese;
        }
        if text.chars().any(is_han) {
            return Self::Chinese;
        }
        let lower = text.to_lowercase();
        let words = || lower.split(|c: char| !c.is_alphanumeric());
        let count = |language: Self| words().filter(|word| language.is_stop_word(word)).count();
        // Among equals, the last one wins.
        let languages = [Self::French, Self::Spanish, Self::German, Self::English];
        languages.into_iter().max_by_key(|language| count(*language)).unwrap_or(Self::English)
    }

    /// Returns whether `word`, in lower case, is a stop word.
    pub fn is_stop_word(self, word: &str) -> bool {
        STOP_WORDS.get(self as usize).is_some_and(|words| words.contains(word))
    }

    /// Returns the stem of a lower-case word without accents; the word itself in languages without inflection.
    pub fn stem(self, word: &str) -> String {
        let algorithm = match self {
            // Fast path: no accents.
            Self::English if word.is_ascii() => {
                return Stemmer::create(Algorithm::English).stem(word).into_owned();
            }
            Self::German => Algorithm::German,
            Self::Spanish => Algorithm::Spanish,
            Self::French => Algorithm::French,
            Self::English | Self::Japanese | Self::Chinese => return word.to_owned(),
        };
        without_accents(&Stemmer::create(algorithm).stem(word))
    }

    /// Returns whether the language is written without spaces between words.
    pub fn is_unspaced(self) -> bool {
        matches!(self, Self::Japanese | Self::Chinese)
    }
}

/// Returns a text without accents, as in identifiers: `Größe` becomes `Grosse`.
pub fn without_accents(text: &str) -> String {
    if text.is_ascii() {
        return text.to_owned();
    }
    text.replace('ß', "ss").nfd().filter(|letter| !is_combining_mark(*letter)).collect()
}

/// Returns whether a character belongs to a script without spaces.
pub fn is_unspaced(letter: char) -> bool {
    is_han(letter) || is_kana(letter)
}

/// Returns whether a character is hiragana or katakana.
pub fn is_kana(letter: char) -> bool {
    matches!(letter, '\u{3040}'..='\u{30ff}')
}

/// Returns whether a character is a CJK ideograph.
pub fn is_han(letter: char) -> bool {
    matches!(letter, '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn detect_uses_function_words() {
        let rows = [
            ("Where are redirects followed?", Language::English),
            ("retry backoff", Language::English),
            ("Wie funktioniert die Anmeldung?", Language::German),
            ("¿Dónde se comprueba el token de la sesión?", Language::Spanish),
            ("Où est-ce que les erreurs sont écrites ?", Language::French),
            ("認証はどこで処理されますか？", Language::Japanese),
            ("在哪里处理登录?", Language::Chinese),
        ];
        for (text, expected) in rows {
            assert_eq!(Language::detect(text), expected, "{text}");
        }
    }

    #[test]
    fn stems_have_no_accents() {
        assert_eq!(Language::English.stem("redirects"), Language::English.stem("redirected"));
        assert_eq!(Language::German.stem("größen"), Language::German.stem("größe"));
        assert!(Language::German.stem("größe").is_ascii());
        assert_eq!(Language::Japanese.stem("認証"), "認証");
    }
}
