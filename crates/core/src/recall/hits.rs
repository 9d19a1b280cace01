//! Which words of a question a text holds.

use super::words::Word;

/// Words of a question that are looked for; one bit each.
pub(super) const WORDS: usize = u64::BITS as usize;
/// What a translation counts: the word that was meant may be another.
const TRANSLATED: f32 = 0.5;

/// Words of one question that a text holds, a bit each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Hits {
    /// In any language.
    any: u64,
    /// As the question has them.
    own: u64,
}

impl Hits {
    /// Looks through a lower-case text; also returns where the first of the words is, in bytes.
    pub(super) fn of(words: &[Word], lower: &str) -> (Self, Option<usize>) {
        let mut hits = Self::default();
        let mut first: Option<usize> = None;
        for (bit, word) in words.iter().take(WORDS).enumerate() {
            let Some((at, own)) = word.find(lower) else { continue };
            hits.any |= 1 << bit;
            hits.own |= u64::from(own) << bit;
            first = Some(first.map_or(at, |first| first.min(at)));
        }
        (hits, first)
    }

    pub(super) fn is_empty(self) -> bool {
        self.any == 0
    }

    /// Returns whether a word is held.
    pub(super) fn holds(self, word: usize) -> bool {
        self.any >> word & 1 == 1
    }

    /// Returns how surely a word is held, from 0 to 1.
    pub(super) fn strength(self, word: usize) -> f32 {
        if self.own >> word & 1 == 1 {
            1.0
        } else if self.holds(word) {
            TRANSLATED
        } else {
            0.0
        }
    }

    /// Returns what either holds.
    pub(super) fn or(self, other: Self) -> Self {
        Self { any: self.any | other.any, own: self.own | other.own }
    }

    /// Returns what the other does not hold.
    pub(super) fn without(self, other: Self) -> Self {
        Self { any: self.any & !other.any, own: self.own & !other.any }
    }
}
