//! A model's chain of thought.

use serde::{Deserialize, Serialize};

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
