//! What a model is asked.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Everything that a model sees. Its chat template makes the prompt; nobody else does.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelRequest {
    /// What the model should do in general: the developer message of Harmony, the system message elsewhere.
    pub instructions: String,
    /// The conversation, oldest first; the last one is a person's message or a tool's result.
    pub messages: Vec<Message>,
    /// What the model may ask for.
    #[serde(default)]
    pub tools: Vec<ToolSpec>,
    /// How it answers.
    #[serde(default)]
    pub options: ModelOptions,
}

/// One turn of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// A person's.
    User {
        /// As it was typed.
        text: String,
    },
    /// The model's.
    Assistant(AssistantMessage),
    /// What a tool gave back.
    Tool {
        /// The call that asked for it.
        call_id: String,
        /// Name of the tool.
        name: String,
        /// JSON or plain text.
        text: String,
    },
}

/// One answer of a model, as far as it came: reasoning, preambles, text, and the tools it asked for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AssistantMessage {
    /// Kept for the model alone, and only within a turn that is still calling tools.
    #[serde(default)]
    pub reasoning: super::Reasoning,
    /// What it said before a call.
    #[serde(default)]
    pub preamble: String,
    /// The answer.
    #[serde(default)]
    pub text: String,
    /// The tools it asked for.
    #[serde(default)]
    pub calls: Vec<CallRequest>,
}

/// A tool that a model asks for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallRequest {
    /// Unique for ever.
    pub id: String,
    /// Name of the tool in our words: `fs.list_dir`.
    pub name: String,
    /// Always an object.
    pub arguments: Value,
}

/// A tool that a model may ask for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Name in our words: `fs.list_dir`. A template that needs another form maps it both ways.
    pub name: String,
    /// One sentence or more.
    pub description: String,
    /// JSON schema of the arguments.
    pub parameters: Value,
}

/// How a model answers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ModelOptions {
    /// 0.0 (always the likeliest token) to 2.0.
    pub temperature: f32,
    /// 0.0 to 1.0: the share of probability that is sampled from.
    pub top_p: f32,
    /// Tokens of the answer, reasoning included; `None` up to the end of the context.
    pub max_tokens: Option<u32>,
    /// How much it thinks before it answers.
    pub effort: ReasoningEffort,
    /// Makes sampling repeatable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u32>,
}

impl Default for ModelOptions {
    /// The product's defaults: 0.7, 0.9, no limit, medium.
    fn default() -> Self {
        Self { temperature: 0.7, top_p: 0.9, max_tokens: None, effort: ReasoningEffort::Medium, seed: None }
    }
}

/// How much a model thinks before it answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningEffort {
    /// Little.
    Low,
    /// Some.
    #[default]
    Medium,
    /// Much.
    High,
}

impl ReasoningEffort {
    /// Returns the word in templates and settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}
