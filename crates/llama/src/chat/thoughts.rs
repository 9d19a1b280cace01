//! What models put around their thoughts, each in its own way.

/// What begins a thought and what ends it.
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

/// What is known of the thoughts of a model before it answers.
#[derive(Debug, Clone, Default)]
pub(super) struct Thoughts {
    /// Prompts end within a thought: the answer goes on with it, up to this.
    pub(super) begun: Option<&'static str>,
    /// What may end a thought that the answer never began.
    pub(super) closings: Vec<&'static str>,
}

impl Thoughts {
    /// Reads them out of a template and the end of its prompts.
    pub(super) fn of(template: &str, prompt: &str) -> Self {
        let prompt = prompt.trim_end();
        let begun = PAIRS.into_iter().find(|(opening, _)| prompt.ends_with(opening));
        // Where the prompt has a thought of its own, the answer is text.
        let over = PAIRS.iter().any(|(_, closing)| prompt.ends_with(closing));
        let closings = PAIRS.into_iter().map(|(_, closing)| closing);
        let closings = closings.filter(|closing| begun.is_none() && !over && template.contains(closing));
        Self { begun: begun.map(|(_, closing)| closing), closings: closings.collect() }
    }
}

/// Whether a text is one of these tags.
pub(super) fn is_tag(text: &str) -> bool {
    PAIRS.iter().any(|(opening, closing)| [*opening, *closing].contains(&text))
}
