//! Requests for work.

use super::{
    named::Names,
    phrases::Phrases,
    prompt::{Prompt, Sentence},
};
use openagents_core::update::Target;
use std::sync::LazyLock;

static WORK: LazyLock<Phrases> = LazyLock::new(|| Phrases::from_table("work"));
pub(super) static KNOWS: LazyLock<Phrases> = LazyLock::new(|| Phrases::from_table("knows"));

/// Returns the agent proposed for work, or `Some(None)` if none is named; `None` for a question.
pub(super) fn work(prompt: &Prompt, names: &Names) -> Option<Option<Target>> {
    let mut requests =
        prompt.sentences.iter().filter(|sentence| KNOWS.strip_start(&sentence.request).is_none());
    let proposed = requests.clone().find_map(|sentence| names.proposed(sentence));
    (proposed.is_some() || requests.any(is_work)).then_some(proposed)
}

pub(super) fn is_work(sentence: &Sentence) -> bool {
    let request = sentence.request.as_str();
    // A single word does not describe work.
    let says_what = request.split_whitespace().nth(1).is_some() || !request.is_ascii();
    says_what && KNOWS.strip_start(request).is_none() && WORK.are_in(request)
}
