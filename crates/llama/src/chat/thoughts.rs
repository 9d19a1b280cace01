//! Tags that models put around their reasoning.

/// Opening and closing tags of reasoning.
pub(super) const PAIRS: [(&str, &str); 11] = [
    ("<think>", "</think>"),
    ("[THINK]", "[/THINK]"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("<seed:think>", "</seed:think>"),
    ("<longcat_think>", "</longcat_think>"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("◁think▷", "◁/think▷"),
    ("<unused94>", "<unused95>"),
];

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
        let begun = PAIRS.into_iter().find(|(opening, _)| prompt.ends_with(opening));
        // If the prompt contains reasoning, the answer is text.
        let over = PAIRS.iter().any(|(_, closing)| prompt.ends_with(closing));
        let closings = PAIRS.into_iter().map(|(_, closing)| closing);
        let closings = closings.filter(|closing| begun.is_none() && !over && template.contains(closing));
        Self { begun: begun.map(|(_, closing)| closing), closings: closings.collect() }
    }
}

/// Returns whether a text is one of these tags.
pub(super) fn is_tag(text: &str) -> bool {
    PAIRS.iter().any(|(opening, closing)| [*opening, *closing].contains(&text))
}
