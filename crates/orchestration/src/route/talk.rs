//! Small talk, and questions about OpenAgents or the agents, which get a fixed answer without running anything.

use super::{
    named::Names,
    phrases::Phrases,
    prompt::{Prompt, Sentence},
    work::{KNOWS, is_work},
};
use openagents_core::update::Target;
use std::sync::LazyLock;

/// Topic of a fixed answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Topic {
    /// "Hi."
    Greeting,
    /// "Thanks!"
    Thanks,
    /// The identity of OpenAgents.
    Identity,
    /// The capabilities of OpenAgents, and how prompts are routed.
    Capabilities,
    /// The agents that OpenAgents can delegate to.
    Delegates,
    /// One agent.
    Agent(Target),
    /// A title or a summary of this session.
    Title,
}

/// Maximum number of words in a prompt that is only talk.
const WORDS: usize = 30;

/// Maximum number of words in a question about an agent; longer ones are about its work.
const ABOUT: usize = 14;

static GREETING: LazyLock<Phrases> = LazyLock::new(|| Phrases::read("greeting"));
static THANKS: LazyLock<Phrases> = LazyLock::new(|| Phrases::read("thanks"));
static AGREED: LazyLock<Phrases> = LazyLock::new(|| Phrases::read("agreed"));
static FILLER: LazyLock<Phrases> = LazyLock::new(|| Phrases::read("filler"));
static ABOUT_AN_AGENT: LazyLock<Phrases> = LazyLock::new(|| Phrases::read("agent"));
static PHRASES: LazyLock<[(Topic, Phrases); 4]> = LazyLock::new(|| {
    [
        (Topic::Identity, Phrases::read("identity")),
        (Topic::Delegates, Phrases::read("delegates")),
        (Topic::Capabilities, Phrases::read("capabilities")),
        (Topic::Title, Phrases::read("title")),
    ]
});

impl Topic {
    /// Returns the reason shown for the route.
    pub(super) fn reason(&self) -> &'static str {
        match self {
            Self::Greeting | Self::Thanks => "Small talk is answered by OpenAgents.",
            Self::Identity | Self::Capabilities => "Questions about OpenAgents are answered by OpenAgents.",
            Self::Delegates | Self::Agent(_) => "Questions about agents are answered by OpenAgents.",
            Self::Title => "Titles and summaries are written by OpenAgents.",
        }
    }
}

/// Returns the topic of a prompt in which every sentence is talk.
pub(super) fn topic(prompt: &Prompt, names: &Names) -> Option<Topic> {
    if prompt.words > WORDS {
        return None;
    }
    let topics = prompt.sentences.iter().map(|sentence| of(sentence, names));
    let topics = topics.collect::<Option<Vec<_>>>()?;
    // "Hello! What can you do?"
    let courtesy = |topic: &Topic| matches!(topic, Topic::Greeting | Topic::Thanks);
    topics.iter().find(|topic| !courtesy(topic)).or(topics.first()).cloned()
}

fn of(sentence: &Sentence, names: &Names) -> Option<Topic> {
    let texts = [sentence.whole.as_str(), sentence.request.as_str()];
    if texts.into_iter().any(|text| is_only(text, &GREETING)) {
        return Some(Topic::Greeting);
    }
    let says_thanks = THANKS.strip_start(&sentence.whole).is_some() && !sentence.asks && !is_work(sentence);
    if says_thanks || is_only(&sentence.whole, &AGREED) {
        return Some(Topic::Thanks);
    }
    let phrase = PHRASES.iter().find(|(_, phrases)| texts.into_iter().any(|text| phrases.are_in(text)));
    if let Some((topic, _)) = phrase
        && is_general(&sentence.whole)
    {
        return Some(topic.clone());
    }
    let asks_about_us = sentence.asks || KNOWS.strip_start(&sentence.whole).is_some();
    if asks_about_us && sentence.whole.contains("openagents") && is_general(&sentence.whole) {
        return Some(Topic::Capabilities);
    }
    let named = names.first(&sentence.whole).filter(|_| is_general(&sentence.whole))?;
    let words = sentence.whole.split_whitespace().count();
    let asks = sentence.asks || ABOUT_AN_AGENT.strip_start(&sentence.request).is_some();
    let is_about = words <= ABOUT && asks && ABOUT_AN_AGENT.are_in(&sentence.request);
    (is_about || names.is_one(&sentence.request)).then_some(Topic::Agent(named))
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
