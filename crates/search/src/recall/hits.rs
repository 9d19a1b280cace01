//! Words of a question that a text contains.

use super::{limits, words::Word};

/// Maximum number of words; one bit each.
pub(super) const WORDS: usize = u64::BITS as usize;
/// Bit sets of the words that a text contains.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Hits {
    any: u64,
    /// In the question's own language.
    own: u64,
}

impl Hits {
    /// Searches a lower-case text; also returns the byte offset of the first match.
    pub(super) fn find(words: &[Word], lower: &str) -> (Self, Option<usize>) {
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

    pub(super) fn holds(self, word: usize) -> bool {
        self.any >> word & 1 == 1
    }

    /// Returns the confidence for a word, from 0 to 1.
    pub(super) fn strength(self, word: usize) -> f32 {
        if self.own >> word & 1 == 1 {
            1.0
        } else if self.holds(word) {
            limits::TRANSLATED
        } else {
            0.0
        }
    }

    pub(super) fn or(self, other: Self) -> Self {
        Self { any: self.any | other.any, own: self.own | other.own }
    }

    pub(super) fn without(self, other: Self) -> Self {
        Self { any: self.any & !other.any, own: self.own & !other.any }
    }
}
