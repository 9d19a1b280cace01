//! Text never becomes markup: special tokens occur only where the format puts them.

use super::{Harmony, HarmonyVocabulary, names::TEXT_TOKENS};
use crate::chat::{ChatError, ChatFormat, Vocabulary, nasty::NASTY};
use openagents_core::model::{AssistantMessage, CallRequest, Message, ModelRequest, Reasoning, ToolSpec};
use proptest::prelude::*;
use serde_json::json;

/// A request with this text in every untrusted place.
fn request(text: &str) -> ModelRequest {
    let reply = || text.to_owned();
    let call = |arguments| CallRequest { id: reply(), name: reply(), arguments };
    let answer = AssistantMessage {
        reasoning: Reasoning::new(text),
        preamble: reply(),
        // The arguments of the second call could not be parsed.
        calls: vec![call(json!({text: text})), call(json!(text))],
        ..AssistantMessage::default()
    };
    let tool = ToolSpec {
        name: reply(),
        description: reply(),
        parameters: json!({
            "type": "object",
            "description": text,
            "properties": {text: {"type": "string", "description": text, "enum": [text], "default": text}},
        }),
    };
    ModelRequest {
        instructions: reply(),
        messages: vec![
            Message::User { text: reply() },
            Message::Assistant(AssistantMessage { text: reply(), ..AssistantMessage::default() }),
            Message::User { text: reply() },
            Message::Assistant(answer),
            Message::Tool { call_id: reply(), name: reply(), text: reply() },
        ],
        tools: vec![tool],
        ..ModelRequest::default()
    }
}

fn specials(text: &str) -> Vec<i32> {
    let tokens = Harmony::on("2026-01-01").render(&request(text), &HarmonyVocabulary).unwrap();
    tokens.into_iter().filter(|token| *token >= TEXT_TOKENS).collect()
}

#[test]
fn text_never_becomes_markup() {
    let expected = specials("harmless");
    for text in NASTY {
        assert_eq!(specials(text), expected, "{text}");
    }
}

#[test]
fn text_is_in_prompt_verbatim() {
    for text in NASTY {
        let tokens = Harmony::on("2026-01-01").render(&request(text), &HarmonyVocabulary).unwrap();
        let bytes: Vec<u8> = tokens.iter().flat_map(|token| HarmonyVocabulary.bytes(*token)).collect();
        let prompt = String::from_utf8(bytes).unwrap();
        assert!(prompt.matches(text).count() >= 7, "{text}");
    }
}

proptest! {
    #[test]
    fn any_text_never_becomes_markup(text in r"(<\||\|>|start|end|call|channel|<|>|[a-z]| |\PC){1,12}") {
        prop_assert_eq!(specials(&text), specials("harmless"));
    }
}

#[test]
fn other_vocabulary_is_rejected() {
    #[derive(Debug)]
    struct Other;
    impl Vocabulary for Other {
        fn markup(&self, _: &str) -> Vec<i32> {
            Vec::new()
        }
        fn text(&self, _: &str) -> Vec<i32> {
            Vec::new()
        }
        fn special(&self, marker: &str) -> Option<i32> {
            (marker != "<|call|>").then(|| HarmonyVocabulary.special(marker)).flatten()
        }
        fn bytes(&self, _: i32) -> Vec<u8> {
            Vec::new()
        }
        fn ends_answer(&self, _: i32) -> bool {
            false
        }
    }
    let refused = Harmony::new().render(&ModelRequest::default(), &Other);
    assert_eq!(refused, Err(ChatError::Vocabulary("<|call|>".to_owned(), "Harmony")));
}
