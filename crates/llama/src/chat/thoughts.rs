//! Tags that models put around their reasoning.

use openagents_core::model::THOUGHT_TAGS;

/// Reasoning tags of a model, known before it answers.
#[derive(Debug, Clone, Default)]
pub(super) struct Thoughts {
    /// The closing tag, if prompts end within reasoning and the answer continues it.
    pub(super) begun: Option<&'static str>,
    /// Closing tags that may follow without an opening one.
    pub(super) closings: Vec<&'static str>,
}

impl Thoughts {
    /// Detects the tags from a template and the end of its prompts.
    pub(super) fn of(template: &str, prompt: &str) -> Self {
        let prompt = prompt.trim_end();
        let begun = THOUGHT_TAGS.into_iter().find(|(opening, _)| prompt.ends_with(opening));
        // If the prompt already contains the reasoning, the answer is text.
        let over = THOUGHT_TAGS.iter().any(|(_, closing)| prompt.ends_with(closing));
        let closings = THOUGHT_TAGS.into_iter().map(|(_, closing)| closing);
        let closings = closings.filter(|closing| begun.is_none() && !over && template.contains(closing));
        Self { begun: begun.map(|(_, closing)| closing), closings: closings.collect() }
    }
}

pub(super) fn is_tag(text: &str) -> bool {
    THOUGHT_TAGS.iter().any(|(opening, closing)| [*opening, *closing].contains(&text))
}
