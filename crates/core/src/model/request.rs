//! Requests to a model.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

/// The complete input of a model. Only the model's chat template turns it into a prompt.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelRequest {
    /// General instructions: the developer message of Harmony, the system message elsewhere.
    pub instructions: String,
    /// The conversation, oldest first; ends with the user's message or a tool result.
    pub messages: Vec<Message>,
    #[serde(default)]
    pub tools: Vec<ToolSpec>,
    #[serde(default)]
    pub options: ModelOptions,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    User {
        text: String,
    },
    Assistant(AssistantMessage),
    /// The result of a tool call: JSON or plain text.
    Tool {
        call_id: String,
        name: String,
        text: String,
    },
}

/// An answer of a model, possibly incomplete: reasoning, preambles, text and tool calls.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AssistantMessage {
    /// Sent only to the model, and only within a turn that is still calling tools.
    pub reasoning: Reasoning,
    /// Text before a call.
    pub preamble: String,
    /// The answer.
    pub text: String,
    pub calls: Vec<CallRequest>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallRequest {
    /// Globally unique.
    pub id: String,
    /// Our name of the tool: `fs.list_dir`.
    pub name: String,
    /// Always an object.
    pub arguments: Value,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Our name: `fs.list_dir`. A template that needs another form maps it both ways.
    pub name: String,
    /// One sentence or more.
    pub description: String,
    /// JSON schema of the arguments.
    pub parameters: Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ModelOptions {
    /// 0.0 (always the most likely token) to 2.0.
    pub temperature: f32,
    /// 0.0 to 1.0: the probability mass to sample from.
    pub top_p: f32,
    /// Maximum number of tokens including reasoning; `None` for the rest of the context.
    pub max_tokens: Option<u32>,
    pub effort: ReasoningEffort,
    /// Makes sampling reproducible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u32>,
}

impl Default for ModelOptions {
    /// Defaults: 0.7, 0.9, no limit, medium.
    fn default() -> Self {
        Self { temperature: 0.7, top_p: 0.9, max_tokens: None, effort: ReasoningEffort::Medium, seed: None }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningEffort {
    Low,
    #[default]
    Medium,
    High,
}

impl ReasoningEffort {
    /// Returns the name in templates and settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

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

    pub fn push(&mut self, piece: &Self) {
        self.0.push_str(&piece.0);
    }

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
