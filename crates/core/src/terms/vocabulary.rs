//! Vocabulary: translations from five languages to the English of identifiers, and English synonyms in code. Each table
//! names its source in its header.

use super::language::Language;
use crate::limits::terms as limits;
use std::{
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

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
    LazyLock::new(|| Dictionary::read(Language::German)),
    LazyLock::new(|| Dictionary::read(Language::Spanish)),
    LazyLock::new(|| Dictionary::read(Language::French)),
    LazyLock::new(|| Dictionary::read(Language::Japanese)),
    LazyLock::new(|| Dictionary::read(Language::Chinese)),
];

/// The words of one language by stem, with their English translations.
struct Dictionary {
    words: HashMap<String, &'static [&'static str]>,
    /// Longest first, so that the longest match wins.
    longest_first: Vec<String>,
}

impl Dictionary {
    fn read(language: Language) -> Self {
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
        let mut rest = super::language::without_accents(word);
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
