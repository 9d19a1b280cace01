//! Tests whether cited lines relate to the citing sentence.

use crate::agent::limits::SHARED_PREFIX;
use openagents_core::terms::{Language, is_unspaced, subwords, translations, translations_within};
use std::collections::HashSet;

/// Stems of the significant words of a text; words of other languages also in English.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Words(HashSet<String>);

impl Words {
    pub(super) fn extract(text: &str) -> Self {
        let language = Language::detect(text);
        let mut words = HashSet::new();
        for word in subwords(text) {
            if language.is_unspaced() && word.contains(is_unspaced) {
                words.extend(pairs(&word));
                add_english(&mut words, translations_within(&word, language));
                continue;
            }
            let is_short = word.chars().nth(1).is_none();
            let says_nothing = language.is_stop_word(&word) || Language::English.is_stop_word(&word);
            if is_short || says_nothing || !word.contains(char::is_alphabetic) {
                continue;
            }
            add_english(&mut words, translations(&word, language));
            let stem = language.stem(&word);
            words.insert(stem);
            words.insert(Language::English.stem(&word));
        }
        Self(words)
    }

    pub(super) fn add(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn occur_in(&self, line: &str) -> bool {
        subwords(line).iter().any(|word| {
            let stem = Language::English.stem(word);
            self.0.contains(&stem)
                || self.0.iter().any(|known| begins_alike(known, &stem))
                || word.contains(is_unspaced) && pairs(word).any(|pair| self.0.contains(&pair))
        })
    }
}

fn add_english(words: &mut HashSet<String>, found: Vec<(String, &'static [&'static str])>) {
    let english = found.into_iter().flat_map(|(_, english)| english);
    words.extend(english.flat_map(|text| subwords(text)).map(|word| Language::English.stem(&word)));
}

fn begins_alike(one: &str, other: &str) -> bool {
    let shorter = one.len().min(other.len());
    shorter >= SHARED_PREFIX && (one.starts_with(other) || other.starts_with(one))
}

/// The character pairs of a word in a language without spaces.
fn pairs(word: &str) -> impl Iterator<Item = String> {
    let letters: Vec<char> = word.chars().filter(|letter| is_unspaced(*letter)).collect();
    let pairs: Vec<String> = letters.windows(2).map(|pair| pair.iter().collect()).collect();
    pairs.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_shared_word_confirms_a_line() {
        let rows = [
            ("Redirects are followed here.", "fn follow_redirect(&self) {", true),
            ("Redirects are followed here.", "let total = 1;", false),
            ("It is used here.", "let it = used(here);", false),
            ("The configuration", "let config = 1;", true),
            ("Die Anmeldung prüft das Passwort.", "fn check_password(", true),
            ("認証はここで処理されます", "// 認証を行う", true),
            ("認証はここで処理されます", "fn draw()", false),
            ("12 and 40", "12 40", false),
        ];
        for (sentence, line, expected) in rows {
            assert_eq!(Words::extract(sentence).occur_in(line), expected, "{sentence} / {line}");
        }
    }
}
