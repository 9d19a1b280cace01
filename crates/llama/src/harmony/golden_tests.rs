//! Prompts as OpenAI's own renderer writes them: `crates/llama/oracle` made the texts.
//!
//! Three differences are meant, and so are in no case. That renderer writes `anyOf` as `any` and a list of words as
//! `"a" | "b"[]`: ours says which types, and has brackets. And once a turn goes on with a call it keeps the thoughts of
//! the turns before as well: ours drops them always, as the model's own template does.

use super::{Harmony, HarmonyVocabulary};
use crate::chat::{ChatFormat, Vocabulary};
use openagents_core::model::ModelRequest;
use serde::Deserialize;
use std::{fs, path::Path};

#[derive(Deserialize)]
struct Case {
    name: String,
    request: ModelRequest,
}

fn goldens() -> Vec<(String, ModelRequest, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/harmony/goldens");
    let cases = fs::read_to_string(folder.join("cases.json")).unwrap();
    let cases: Vec<Case> = serde_json::from_str(&cases).unwrap();
    let golden = |Case { name, request }| {
        let text = fs::read_to_string(folder.join(format!("{name}.txt"))).unwrap();
        (name, request, text)
    };
    cases.into_iter().map(golden).collect()
}

#[test]
fn prompts_are_those_of_the_official_renderer() {
    for (name, request, golden) in goldens() {
        let tokens = Harmony::on("2026-01-01").render(&request, &HarmonyVocabulary).unwrap();
        let bytes = tokens.iter().flat_map(|token| HarmonyVocabulary.bytes(*token)).collect();
        assert_eq!(String::from_utf8(bytes).unwrap(), golden, "{name}");
        // Nothing in these texts is a marker that somebody typed.
        assert_eq!(tokens, HarmonyVocabulary.markup(&golden), "{name}");
    }
}

#[test]
fn a_prompt_carries_the_day_on_which_it_is_made() {
    let request = ModelRequest::default();
    let prompt = |format: Harmony| {
        let tokens = format.render(&request, &HarmonyVocabulary).unwrap();
        String::from_utf8(tokens.iter().flat_map(|token| HarmonyVocabulary.bytes(*token)).collect()).unwrap()
    };
    let day = |prompt: &str| prompt.split_once("Current date: ").unwrap().1[..10].to_owned();
    assert_eq!(day(&prompt(Harmony::on("2026-01-01"))), "2026-01-01");
    assert!(day(&prompt(Harmony::new())).parse::<jiff::civil::Date>().is_ok());
}

#[test]
fn thoughts_of_a_turn_that_is_over_are_dropped() {
    use openagents_core::model::{AssistantMessage, CallRequest, Message, Reasoning};
    let user = |text: &str| Message::User { text: text.to_owned() };
    let call = |id: &str, thought: &str| {
        Message::Assistant(AssistantMessage {
            reasoning: Reasoning::new(thought),
            calls: vec![CallRequest { id: id.into(), name: "x".into(), arguments: serde_json::json!({}) }],
            ..AssistantMessage::default()
        })
    };
    let result = |id: &str| Message::Tool { call_id: id.into(), name: "x".into(), text: "done".into() };
    let request = ModelRequest {
        messages: vec![user("a"), call("1", "old"), result("1"), user("b"), call("2", "new"), result("2")],
        ..ModelRequest::default()
    };
    let tokens = Harmony::on("2026-01-01").render(&request, &HarmonyVocabulary).unwrap();
    let bytes = tokens.iter().flat_map(|token| HarmonyVocabulary.bytes(*token)).collect();
    let prompt = String::from_utf8(bytes).unwrap();
    assert!(!prompt.contains("old"), "{prompt}");
    assert!(prompt.contains("<|channel|>analysis<|message|>new<|end|>"), "{prompt}");
    assert_eq!(prompt.matches("<|call|>").count(), 2, "{prompt}");
}
