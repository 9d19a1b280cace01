//! Converts text into tokens and back, so that text typed by the user never becomes markup.
//!
//! llama.cpp finds special tokens of the type "user defined" in any text, even with special tokens turned off; the
//! markup of gpt-oss has this type. So gpt-oss text uses OpenAI's own tokenizer, which also splits Hindi, Thai and
//! Khmer as in training, and the text of other models is split inside each marker.

use llama_cpp_2::{token::LlamaToken, token_type::LlamaTokenAttr, vocab::LlamaVocab};
use openagents_llama::{
    chat::{ChatError, Vocabulary},
    harmony::HarmonyVocabulary,
};
use std::collections::BTreeSet;

const HARMONY: [&str; 7] =
    ["<|return|>", "<|constrain|>", "<|channel|>", "<|start|>", "<|end|>", "<|message|>", "<|call|>"];

/// The number of ordinary tokens in `o200k_harmony`.
const ORDINARY: i32 = 199_998;

/// Returns the vocabulary of gpt-oss; fails if the token ids of the file differ.
pub(crate) fn harmony(file: &LlamaVocab<'_>) -> Result<HarmonyVocabulary, ChatError> {
    let harmony = HarmonyVocabulary;
    let fits = |token: i32| {
        token < file.n_tokens() && file.token_to_piece(LlamaToken(token), true, None) == harmony.bytes(token)
    };
    if let Some(marker) = HARMONY.into_iter().find(|marker| !harmony.special(marker).is_some_and(fits)) {
        return Err(ChatError::Vocabulary(marker.to_owned(), "Harmony"));
    }
    // A sample is enough to detect another vocabulary.
    if let Some(token) = (0..ORDINARY).step_by(997).find(|token| !fits(*token)) {
        return Err(ChatError::Vocabulary(format!("token {token} of o200k_harmony"), "Harmony"));
    }
    Ok(harmony)
}

#[derive(Debug)]
pub(crate) struct FileVocabulary<'m> {
    pub(crate) file: LlamaVocab<'m>,
}

impl FileVocabulary<'_> {
    fn tokens(&self, text: &str, markup: bool) -> Vec<LlamaToken> {
        self.file.tokenize(text.as_bytes(), false, markup)
    }

    /// Returns the text of a token that must not result from user text. In some files runs of spaces and single
    /// characters are "user defined" too, but are not markup.
    fn marker(&self, token: LlamaToken) -> Option<String> {
        let attributes = self.file.attr(token);
        let control = attributes.contains(LlamaTokenAttr::Control) || self.file.is_eog(token);
        if !control && !attributes.contains(LlamaTokenAttr::UserDefined) {
            return None;
        }
        let marker = self.file.token_to_piece(token, true, None);
        let marker = String::from_utf8_lossy(&marker).into_owned();
        (control || marker.trim().chars().count() > 1).then_some(marker)
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
            let tokens = self.tokens(piece, false).into_iter();
            tokens.map(|token| (token.0, self.marker(token))).collect()
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

/// Tokenizes `text`. Where `tokenize` finds markers, tries again with the text split after the first character of each.
/// A file may spell a marker differently from the text that matches it: if splitting does not help, characters are
/// tokenized one by one, and a character that is itself a marker is dropped.
fn text_without_markup(text: &str, tokenize: impl Fn(&str) -> Vec<(i32, Option<String>)>) -> Vec<i32> {
    let (mut tokens, mut pieces) = (Vec::new(), vec![text]);
    while let Some(piece) = pieces.pop() {
        let found = tokenize(piece);
        let markers: BTreeSet<&str> = found.iter().filter_map(|(_, marker)| marker.as_deref()).collect();
        let letters = || piece.char_indices().map(|(at, _)| at).filter(|at| *at > 0);
        let mut cuts: BTreeSet<usize> = markers
            .iter()
            .filter(|marker| !marker.is_empty())
            .flat_map(|marker| piece.match_indices(marker))
            .filter_map(|(at, marker)| Some(at + marker.chars().next()?.len_utf8()))
            .filter(|cut| *cut < piece.len())
            .collect();
        if cuts.is_empty() && !markers.is_empty() {
            cuts = letters().collect();
        }
        if cuts.is_empty() {
            tokens.extend(found.iter().filter(|(_, marker)| marker.is_none()).map(|(token, _)| token));
            continue;
        }
        // The last piece is pushed first, so that the first one is on top.
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
    use crate::model;
    use openagents_core::CancellationToken;
    use openagents_llama::LoadRequest;
    use proptest::prelude::*;
    use std::{collections::BTreeMap, path::PathBuf};

    /// One token per character, except for markers, which are found in any text, as in llama.cpp.
    fn tokenize(text: &str) -> Vec<(i32, Option<String>)> {
        let (mut tokens, mut rest) = (Vec::new(), text);
        while let Some(first) = rest.chars().next() {
            let marker = MARKERS.into_iter().find(|(found, _)| rest.starts_with(found));
            tokens
                .push(marker.map_or((first as i32, None), |(_, spelled)| (MARKER, Some(spelled.to_owned()))));
            rest = &rest[marker.map_or(first.len_utf8(), |(found, _)| found.len())..];
        }
        tokens
    }

    const MARKER: i32 = -1;

    /// Markers as found in a text, and as spelled by the file.
    const MARKERS: [(&str, &str); 6] = [
        ("<|im_start|>", "<|im_start|>"),
        ("<a>", "<a>"),
        ("ää", "ää"),
        ("<B>", "<b>"),
        ("<c>", ""),
        ("§", "§"),
    ];

    #[test]
    fn trap_typed_special_tokens_stay_text() {
        for text in ["<|im_start|>system", "a<a><a>b", "äää", "<<a>>", "plain", ""] {
            let expected: Vec<i32> = text.chars().map(|letter| letter as i32).collect();
            assert_eq!(text_without_markup(text, tokenize), expected, "{text}");
        }
    }

    #[test]
    fn text_without_markup_splits_respelled_markers() {
        for (text, plain) in [
            ("<B>", "<B>"),
            ("a<B>b<c>", "a<B>b<c>"),
            ("<c>", "<c>"),
            ("a§b", "ab"),
            ("§", ""),
            ("<a>§<B>", "<a><B>"),
        ] {
            let expected: Vec<i32> = plain.chars().map(|letter| letter as i32).collect();
            assert_eq!(text_without_markup(text, tokenize), expected, "{text}");
        }
    }

    #[test]
    fn text_never_yields_special_token_of_real_file() {
        let built = || std::env::current_exe().unwrap().ancestors().nth(3).unwrap().join("test-models");
        let folder = std::env::var_os("OPENAGENTS_TEST_MODELS").map_or_else(built, PathBuf::from);
        let path = folder.join("SmolLM2-135M-Instruct.gguf");
        let request = LoadRequest { path, context_tokens: 64, threads: Some(1) };
        let model = model::load(&request, &CancellationToken::new(), |_| ()).unwrap();
        let vocabulary = FileVocabulary { file: model.vocab() };
        let special: BTreeMap<i32, String> = (0..model.vocab().n_tokens())
            .filter_map(|token| Some((token, vocabulary.marker(LlamaToken(token))?)))
            .collect();
        assert!(special.len() > 10, "{special:?}");
        let markers: Vec<String> = special.values().cloned().collect();
        let part = prop_oneof![prop::sample::select(markers), "[<|>_a-z é\\n]{0,4}"];
        proptest!(|(parts in prop::collection::vec(part, 0..12))| {
            let text = parts.concat();
            let tokens = vocabulary.text(&text);
            prop_assert!(!tokens.iter().any(|token| special.contains_key(token)), "{:?}", tokens);
            let bytes: Vec<u8> = tokens.iter().flat_map(|token| vocabulary.bytes(*token)).collect();
            prop_assert_eq!(String::from_utf8(bytes).unwrap(), text);
        });
    }

    proptest! {
        #[test]
        fn text_never_yields_marker(text in "(<\\|im_start\\|>|<[aBbc]>|ä|<|>|§|x){0,20}") {
            prop_assert!(!text_without_markup(&text, tokenize).contains(&MARKER));
        }

        #[test]
        fn text_never_yields_special_token(text in "(<\\|im_start\\|>|<a>|ä|<|a|>|\\|){0,30}") {
            let expected: Vec<i32> = text.chars().map(|letter| letter as i32).collect();
            prop_assert_eq!(text_without_markup(&text, tokenize), expected);
        }
    }
}
