//! Events of a model's answer.

use super::{reasoning::Reasoning, request::CallRequest};
use serde::{Deserialize, Serialize};

/// An event of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelEvent {
    /// Current activity; replaces the previous one and is never stored.
    Activity(Activity),
    /// A piece of the answer.
    Text(String),
    /// A piece of the text before a tool call.
    Preamble(String),
    /// A piece of the chain of thought; used only in the next request of the same turn.
    Reasoning(Reasoning),
    /// A tool call, complete.
    ToolCall(CallRequest),
    /// Figures of the whole answer; the last event.
    Usage(Usage),
}

/// Activity of a model. Shown live, never stored.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[expect(missing_docs, reason = "the lines of the variants describe the fields")]
pub enum Activity {
    /// Waiting for another request to end.
    Waiting,
    /// Loading the model file into memory; from 0.0 to 1.0.
    Loading { progress: f32 },
    /// Processing the prompt, from 0.0 to 1.0; cached tokens count as processed.
    ReadingPrompt { progress: f32 },
    /// Generating tokens, visible or not: the number so far, and the mean rate over the whole answer.
    Generating { tokens: u32, tokens_per_second: f32 },
}

/// Figures of one answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Number of prompt tokens.
    pub prompt_tokens: u32,
    /// Number of prompt tokens that were cached.
    pub cached_tokens: u32,
    /// Number of generated tokens.
    pub tokens: u32,
    /// Generation rate, without prompt processing.
    pub tokens_per_second: f32,
    /// Time from the request to the first token, including loading.
    pub first_token_ms: u32,
    /// Resident memory of the model's process in bytes.
    pub memory_bytes: u64,
}

/// Why an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The answer is complete.
    EndTurn,
    /// The model waits for tool results.
    ToolCalls,
    /// The token limit or the end of the context was reached.
    MaxTokens,
}
