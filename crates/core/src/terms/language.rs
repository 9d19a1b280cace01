//! Supported languages of questions, with stop words and a stemmer for each.

use rust_stemmers::{Algorithm, Stemmer};
use std::{collections::HashSet, sync::LazyLock};
use stop_words::LANGUAGE;
use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

/// A language of questions. Code is assumed to be English. The order matches the word tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say it")]
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
    pub fn of(text: &str) -> Self {
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
    fn questions_are_recognised_by_their_function_words() {
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
            assert_eq!(Language::of(text), expected, "{text}");
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
