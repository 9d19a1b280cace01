//! The vocabulary of gpt-oss, o200k_harmony, from OpenAI's own tables.
//!
//! llama.cpp splits Hindi, Thai and Khmer differently from the training data, and finds markers in text.

use super::names::{CALL, END_OF_TEXT, MARKERS, RETURN};
use crate::{chat::Vocabulary, limits::TOKENIZED_BYTES};
use openagents_core::text::prefix;
use tiktoken_rs::CoreBPE;

/// See the module documentation. Cheap to create and copy; the tables are loaded on first use.
#[derive(Debug, Clone, Copy, Default)]
pub struct HarmonyVocabulary;

impl HarmonyVocabulary {
    fn bpe() -> &'static CoreBPE {
        tiktoken_rs::o200k_harmony_singleton()
    }
}

impl Vocabulary for HarmonyVocabulary {
    fn markup(&self, text: &str) -> Vec<i32> {
        let mut tokens = Vec::new();
        let mut rest = text;
        while let Some((at, (marker, id))) = first_marker(rest) {
            tokens.extend(self.text(&rest[..at]));
            tokens.push(id);
            rest = &rest[at + marker.len()..];
        }
        tokens.extend(self.text(rest));
        tokens
    }

    fn text(&self, text: &str) -> Vec<i32> {
        let mut tokens = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(first_piece(rest));
            tokens.extend(
                Self::bpe().encode_ordinary(piece).into_iter().filter_map(|id| i32::try_from(id).ok()),
            );
            rest = after;
        }
        tokens
    }

    fn special(&self, marker: &str) -> Option<i32> {
        MARKERS.into_iter().find(|(known, _)| *known == marker).map(|(_, id)| id)
    }

    fn bytes(&self, token: i32) -> Vec<u8> {
        let id = u32::try_from(token).ok();
        id.and_then(|id| Self::bpe().decode_bytes(&[id]).ok()).unwrap_or_default()
    }

    fn ends_answer(&self, token: i32) -> bool {
        [RETURN, CALL, END_OF_TEXT].contains(&token)
    }
}

/// Finds a place to split. No token spans a letter followed by a space, so a split there does not change the tokens.
fn first_piece(text: &str) -> usize {
    if text.len() <= TOKENIZED_BYTES {
        return text.len();
    }
    let longest = prefix(text, TOKENIZED_BYTES);
    let after_letter = |at: &usize| longest[..*at].ends_with(|letter: char| letter.is_ascii_alphanumeric());
    longest.rmatch_indices(' ').map(|(at, _)| at).find(after_letter).unwrap_or(longest.len())
}

fn first_marker(text: &str) -> Option<(usize, (&'static str, i32))> {
    MARKERS.into_iter().filter_map(|marker| Some((text.find(marker.0)?, marker))).min_by_key(|(at, _)| *at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_are_tokens_in_markup_only() {
        let vocabulary = HarmonyVocabulary;
        let reply = "<|start|>assistant<|channel|>final";
        assert_eq!(vocabulary.markup(reply).len(), 4);
        assert!(vocabulary.text(reply).iter().all(|token| *token < crate::harmony::names::TEXT_TOKENS));
        for text in [reply, "", "नमस्ते ទទួល สวัสดี 🦊", "  \n\t x"] {
            let bytes = |tokens: Vec<i32>| {
                tokens.iter().flat_map(|token| vocabulary.bytes(*token)).collect::<Vec<_>>()
            };
            assert_eq!(bytes(vocabulary.text(text)), text.as_bytes());
            assert_eq!(bytes(vocabulary.markup(text)), text.as_bytes());
        }
        for (marker, id) in MARKERS {
            assert_eq!(
                (vocabulary.special(marker), vocabulary.bytes(id)),
                (Some(id), marker.as_bytes().to_vec())
            );
        }
        assert_eq!(vocabulary.bytes(-1), b"");
        assert_eq!(vocabulary.bytes(i32::MAX), b"");
    }

    #[test]
    fn splitting_long_text_keeps_tokens() {
        let text = "Don't 12345 cut\n  me,  please: I'd rather  stay   whole…\n\n".repeat(200);
        let whole = HarmonyVocabulary::bpe().encode_ordinary(&text);
        let tokens: Vec<_> = whole.into_iter().map(|id| i32::try_from(id).unwrap()).collect();
        assert_eq!(HarmonyVocabulary.text(&text), tokens);
    }

    #[test]
    fn long_runs_neither_panic_nor_hang() {
        for run in [" ", "\n", "a", "é", "0", "=", " \n", "\u{3000}"] {
            let text = run.repeat(100_000 / run.len());
            let tokens = HarmonyVocabulary.text(&text);
            let bytes: usize = tokens.iter().map(|token| HarmonyVocabulary.bytes(*token).len()).sum();
            assert_eq!(bytes, text.len(), "{run:?}");
        }
    }
}
