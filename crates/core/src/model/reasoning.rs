//! A model's chain of thought.

use serde::{Deserialize, Serialize};

/// Opening and closing tags that models put around their reasoning. An answer may mention them, so they count only
/// before the answer.
pub const THOUGHT_TAGS: [(&str, &str); 11] = [
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

/// Returns the length of a suffix that may be the beginning of one of `tags`, in bytes.
pub fn tag_begun(text: &str, tags: &[&str]) -> usize {
    let longest = |tag: &&str| {
        let begun = |length: &usize| text.as_bytes().ends_with(&tag.as_bytes()[..*length]);
        (1..tag.len()).rev().find(begun).unwrap_or(0)
    };
    tags.iter().map(longest).max().unwrap_or(0)
}

/// A chain of thought. It is sent only to the model: it has no `Display`, and `Debug` shows only its length.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Reasoning(String);

impl Reasoning {
    /// Wraps a piece.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Appends a piece.
    pub fn push(&mut self, piece: &Self) {
        self.0.push_str(&piece.0);
    }

    /// Returns whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the text, for a chat template.
    pub fn for_template(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Reasoning {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Reasoning({} bytes)", self.0.len())
    }
}
