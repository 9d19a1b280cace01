//! Text into tokens and back, such that what a person types never becomes markup.
//!
//! llama.cpp finds the special tokens that a file calls "user defined" in any text, even when it is told to parse
//! none; gpt-oss has its markup there. So gpt-oss text goes through OpenAI's own tokeniser, which also splits Hindi,
//! Thai and Khmer as the model has learnt them, and the text of other models is cut inside each marker.

use llama_cpp_2::{token::LlamaToken, token_type::LlamaTokenAttr, vocab::LlamaVocab};
use openagents_llama::{
    chat::{ChatError, Vocabulary},
    harmony::HarmonyVocabulary,
};
use std::collections::BTreeSet;

/// What prompts and answers of gpt-oss are made of.
const HARMONY: [&str; 7] =
    ["<|return|>", "<|constrain|>", "<|channel|>", "<|start|>", "<|end|>", "<|message|>", "<|call|>"];

/// Ordinary tokens of `o200k_harmony`: 0 to this, without it.
const ORDINARY: i32 = 199_998;

/// Returns the vocabulary of gpt-oss, or fails when the file numbers its tokens in another way.
pub(crate) fn harmony(file: &LlamaVocab<'_>) -> Result<HarmonyVocabulary, ChatError> {
    let harmony = HarmonyVocabulary;
    let fits = |token: i32| {
        token < file.n_tokens() && file.token_to_piece(LlamaToken(token), true, None) == harmony.bytes(token)
    };
    if let Some(marker) = HARMONY.into_iter().find(|marker| !harmony.special(marker).is_some_and(fits)) {
        return Err(ChatError::Vocabulary(marker.to_owned(), "Harmony"));
    }
    // A sample tells another vocabulary well enough.
    if let Some(token) = (0..ORDINARY).step_by(997).find(|token| !fits(*token)) {
        return Err(ChatError::Vocabulary(format!("token {token} of o200k_harmony"), "Harmony"));
    }
    Ok(harmony)
}

/// The vocabulary of any other file.
#[derive(Debug)]
pub(crate) struct FileVocabulary<'m> {
    file: LlamaVocab<'m>,
}

impl<'m> FileVocabulary<'m> {
    /// Takes the vocabulary of a model.
    pub(crate) fn of(file: LlamaVocab<'m>) -> Self {
        Self { file }
    }

    fn tokens(&self, text: &str, markup: bool) -> Vec<LlamaToken> {
        self.file.tokenize(text.as_bytes(), false, markup)
    }

    /// Returns the text of a token that must not come out of a person's text. Runs of spaces and single characters are
    /// "user defined" in some files too, and are no markup.
    fn marker(&self, token: LlamaToken) -> Option<String> {
        let attributes = self.file.attr(token);
        if !attributes.contains(LlamaTokenAttr::UserDefined) && !attributes.contains(LlamaTokenAttr::Control)
        {
            return None;
        }
        let marker = String::from_utf8(self.file.token_to_piece(token, true, None)).ok()?;
        (marker.trim().chars().count() > 1).then_some(marker)
    }

    fn special_token(&self, marker: &str) -> Option<LlamaToken> {
        match self.tokens(marker, true)[..] {
            [token] if self.marker(token).is_some() => Some(token),
            _ => None,
        }
    }
}

impl Vocabulary for FileVocabulary<'_> {
    fn markup(&self, text: &str) -> Vec<i32> {
        self.tokens(text, true).into_iter().map(|token| token.0).collect()
    }

    fn text(&self, text: &str) -> Vec<i32> {
        text_without_markup(text, |piece| {
            let tokens = self.tokens(piece, false);
            let markers = tokens.iter().filter_map(|token| self.marker(*token)).collect();
            (tokens.into_iter().map(|token| token.0).collect(), markers)
        })
    }

    fn special(&self, marker: &str) -> Option<i32> {
        self.special_token(marker).map(|token| token.0)
    }

    fn bytes(&self, token: i32) -> Vec<u8> {
        self.file.token_to_piece(LlamaToken(token), true, None)
    }

    fn ends_answer(&self, token: i32) -> bool {
        self.file.is_eog(LlamaToken(token))
    }
}

/// Tokenises `text`, and wherever `tokenize` says that markers came out, again with the text cut behind the first
/// character of each of them.
fn text_without_markup(text: &str, tokenize: impl Fn(&str) -> (Vec<i32>, BTreeSet<String>)) -> Vec<i32> {
    let (mut tokens, mut pieces) = (Vec::new(), vec![text]);
    while let Some(piece) = pieces.pop() {
        let (found, markers) = tokenize(piece);
        let cuts: BTreeSet<usize> = markers
            .iter()
            .flat_map(|marker| piece.match_indices(marker.as_str()))
            .filter_map(|(at, marker)| Some(at + marker.chars().next()?.len_utf8()))
            .collect();
        if cuts.is_empty() {
            tokens.extend(found);
            continue;
        }
        // The last piece first: the first one is on top then.
        let mut end = piece.len();
        for cut in cuts.into_iter().rev() {
            pieces.push(&piece[cut..end]);
            end = cut;
        }
        pieces.push(&piece[..end]);
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// One token a character, but for the markers, which are found in any text: what llama.cpp does.
    fn tokenize(text: &str) -> (Vec<i32>, BTreeSet<String>) {
        let (mut tokens, mut found, mut rest) = (Vec::new(), BTreeSet::new(), text);
        while let Some(first) = rest.chars().next() {
            let marker = ["<|im_start|>", "<a>", "ää"].into_iter().find(|marker| rest.starts_with(marker));
            found.extend(marker.map(str::to_owned));
            tokens.push(marker.map_or(first as i32, |_| -1));
            rest = &rest[marker.map_or(first.len_utf8(), str::len)..];
        }
        (tokens, found)
    }

    #[test]
    fn trap_special_tokens_that_a_person_types_stay_text() {
        for text in ["<|im_start|>system", "a<a><a>b", "äää", "<<a>>", "plain", ""] {
            let expected: Vec<i32> = text.chars().map(|letter| letter as i32).collect();
            assert_eq!(text_without_markup(text, tokenize), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_gives_a_special_token(text in "(<\\|im_start\\|>|<a>|ä|<|a|>|\\|){0,30}") {
            let expected: Vec<i32> = text.chars().map(|letter| letter as i32).collect();
            prop_assert_eq!(text_without_markup(&text, tokenize), expected);
        }
    }
}
