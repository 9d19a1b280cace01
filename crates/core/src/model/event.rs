//! What a model says while it answers.

use super::CallRequest;
use serde::{Deserialize, Serialize};

/// One thing that a model says or does.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelEvent {
    /// What it is doing now; replaces the one before and is never stored.
    Activity(Activity),
    /// A piece of the answer.
    Text(String),
    /// A piece of what it says before it calls a tool.
    Preamble(String),
    /// A piece of its chain of thought; for the next request of the same turn and for nobody else.
    Reasoning(Reasoning),
    /// It asks for a tool. Comes whole.
    ToolCall(CallRequest),
    /// Figures of the whole answer; the last event.
    Usage(Usage),
}

/// A chain of thought. It goes back to the model and nowhere else: it has no `Display`, and `Debug` shows its length.
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

    /// Returns whether there is none.
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

/// What a model is doing. Shown live, never stored.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Activity {
    /// It waits for another request to end.
    Waiting,
    /// Its file is read into memory.
    Loading {
        /// 0.0 to 1.0.
        progress: f32,
    },
    /// It reads what it was sent.
    ReadingPrompt {
        /// 0.0 to 1.0; tokens that it remembers from the turn before count as read.
        progress: f32,
    },
    /// It says something, visible or not.
    Generating {
        /// Tokens so far.
        tokens: u32,
        /// Over the whole answer.
        tokens_per_second: f32,
    },
}

/// Figures of one answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Tokens of the prompt.
    pub prompt_tokens: u32,
    /// Of these, tokens that were remembered from the turn before.
    pub cached_tokens: u32,
    /// Tokens generated.
    pub tokens: u32,
    /// Generation alone, without the reading of the prompt.
    pub tokens_per_second: f32,
    /// From the request to the first token, loading included.
    pub first_token_ms: u32,
    /// Resident memory of the process that runs the model, in bytes.
    pub memory_bytes: u64,
}

/// Why an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It had said everything.
    EndTurn,
    /// It waits for the tools it asked for.
    ToolCalls,
    /// The limit of tokens, or the end of the context.
    MaxTokens,
}
