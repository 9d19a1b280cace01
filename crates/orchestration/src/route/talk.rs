//! Recognises small talk, and questions about OpenAgents or its agents.

use super::{
    named::Names,
    phrases::Phrases,
    prompt::{Prompt, Sentence},
    work::{KNOWS, is_work},
};
use std::sync::LazyLock;

/// Maximum number of words in a prompt that is only talk.
const WORDS: usize = 30;

/// Maximum number of words in a question about an agent; longer ones are about its work.
const ABOUT: usize = 14;

static GREETING: LazyLock<Phrases> = LazyLock::new(|| Phrases::from_table("greeting"));
static THANKS: LazyLock<Phrases> = LazyLock::new(|| Phrases::from_table("thanks"));
static AGREED: LazyLock<Phrases> = LazyLock::new(|| Phrases::from_table("agreed"));
static FILLER: LazyLock<Phrases> = LazyLock::new(|| Phrases::from_table("filler"));
static ABOUT_AN_AGENT: LazyLock<Phrases> = LazyLock::new(|| Phrases::from_table("agent"));
static ABOUT_US: LazyLock<Phrases> = LazyLock::new(|| Phrases::from_table("about"));

/// Returns whether every sentence of a prompt is small talk or asks about OpenAgents or its agents.
pub(super) fn is_talk(prompt: &Prompt, names: &Names) -> bool {
    prompt.words <= WORDS
        && !prompt.sentences.is_empty()
        && prompt.sentences.iter().all(|sentence| is_talk_sentence(sentence, names))
}

fn is_talk_sentence(sentence: &Sentence, names: &Names) -> bool {
    let texts = [sentence.whole.as_str(), sentence.request.as_str()];
    let says_thanks = THANKS.strip_start(&sentence.whole).is_some() && !sentence.asks && !is_work(sentence);
    if says_thanks
        || is_only(&sentence.whole, &AGREED)
        || texts.into_iter().any(|text| is_only(text, &GREETING))
    {
        return true;
    }
    if !is_general(&sentence.whole) {
        return false;
    }
    let asks_to_know = sentence.asks || KNOWS.strip_start(&sentence.whole).is_some();
    let is_about_us = texts.into_iter().any(|text| ABOUT_US.are_in(text))
        || asks_to_know && sentence.whole.contains("openagents");
    let asks = sentence.asks || ABOUT_AN_AGENT.strip_start(&sentence.request).is_some();
    let is_short = sentence.whole.split_whitespace().count() <= ABOUT;
    let is_about_an_agent = names.first(&sentence.whole).is_some()
        && (is_short && asks && ABOUT_AN_AGENT.are_in(&sentence.request) || names.is_one(&sentence.request));
    is_about_us || is_about_an_agent
}

/// Returns whether a text mentions neither files nor code.
fn is_general(text: &str) -> bool {
    let is_code = |word: &str| {
        let inner = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '`');
        inner.contains(['`', '/', '_'])
            || inner.contains("::")
            || inner.contains('.') && !inner.contains("..")
    };
    !text.split_whitespace().any(is_code)
}

/// Returns whether a text consists of phrases and fillers, and starts with a phrase.
fn is_only(text: &str, phrases: &Phrases) -> bool {
    let trim = |text: &'_ str| text.trim_start_matches(|c: char| !c.is_alphanumeric()).len();
    let mut rest = match phrases.strip_start(text) {
        Some(rest) => &rest[rest.len() - trim(rest)..],
        None => return false,
    };
    while let Some(next) = phrases.strip_start(rest).or_else(|| FILLER.strip_start(rest)) {
        rest = &next[next.len() - trim(next)..];
    }
    rest.is_empty()
}
