//! The special tokens of Harmony.

use crate::chat::{ChatError, Vocabulary};

pub(super) const END_OF_TEXT: i32 = 199_999;
pub(super) const RETURN: i32 = 200_002;
pub(super) const CONSTRAIN: i32 = 200_003;
pub(super) const CHANNEL: i32 = 200_005;
pub(super) const START: i32 = 200_006;
pub(super) const END: i32 = 200_007;
pub(super) const MESSAGE: i32 = 200_008;
pub(super) const CALL: i32 = 200_012;

/// Number of text tokens. They come first, followed by special and reserved tokens.
pub(super) const TEXT_TOKENS: i32 = 199_998;

pub(super) const MARKERS: [(&str, i32); 8] = [
    ("<|endoftext|>", END_OF_TEXT),
    ("<|return|>", RETURN),
    ("<|constrain|>", CONSTRAIN),
    ("<|channel|>", CHANNEL),
    ("<|start|>", START),
    ("<|end|>", END),
    ("<|message|>", MESSAGE),
    ("<|call|>", CALL),
];

/// Fails if the vocabulary has other ids for the special tokens.
pub(super) fn check(vocabulary: &dyn Vocabulary) -> Result<(), ChatError> {
    for (marker, id) in MARKERS.into_iter().filter(|(_, id)| *id != END_OF_TEXT) {
        if vocabulary.special(marker) != Some(id) {
            return Err(ChatError::Vocabulary(marker.to_owned(), "Harmony"));
        }
    }
    Ok(())
}
