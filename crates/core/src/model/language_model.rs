//! The trait of language models.

use super::request::{CallRequest, Message, ModelOptions, ModelRequest, Reasoning, ReasoningEffort};
use crate::CancellationToken;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// Token limit of [`complete`], including reasoning.
const COMPLETE_TOKENS: u32 = 1024;

/// Maximum length of the text in bytes.
const COMPLETE_BYTES: usize = 16 << 10;

/// Low, so that two runs on the same folder rarely differ.
const COMPLETE_TEMPERATURE: f32 = 0.2;

/// Completes messages and may call tools.
pub trait LanguageModel: Send + Sync + std::fmt::Debug {
    /// Returns the id of the provider: `gptoss_20b`.
    fn id(&self) -> &str;

    /// Returns the display name: `GPTOSS 20B`.
    fn name(&self) -> String;

    fn capabilities(&self) -> Capabilities;

    /// Returns the context size in tokens, if known: after a load.
    fn context_tokens(&self) -> Option<u32> {
        None
    }

    /// Returns whether a request would succeed now; checks disk and memory without loading.
    fn availability(&self) -> Availability;

    /// Answers on this thread and calls `on_event`, which applies backpressure.
    ///
    /// Loads the model if needed. Returns [`ModelError::Cancelled`] within 100 ms of a cancel. Requests run one at a
    /// time; others wait.
    fn respond(
        &self,
        request: &ModelRequest,
        cancel: &CancellationToken,
        on_event: &mut dyn FnMut(ModelEvent),
    ) -> Result<StopReason, ModelError>;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// It can call tools. Otherwise, no tools are offered to it.
    pub tools: bool,
    /// It runs on this machine.
    pub local: bool,
    /// It is in memory.
    pub loaded: bool,
}

/// Availability, with a remedy if unavailable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Availability {
    Ready,
    /// Unavailable for a reason that the user can act on: one sentence without a full stop.
    Unavailable(String),
}

/// Why a model did not answer. One sentence each, with the operand and the remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelError {
    #[error("Cancelled")]
    Cancelled,
    #[error("{0}")]
    Unavailable(String),
    #[error("{0}")]
    Load(String),
    #[error(
        "the conversation has {needed} tokens and the model was loaded for {context}; start a new session or shorten the prompt"
    )]
    ContextOverflow { needed: u32, context: u32 },
    /// The model's process exited; the next request starts a new one.
    #[error("the local model stopped unexpectedly ({0}); try again")]
    Crashed(String),
    #[error("the model's answer could not be understood; try again or rephrase the prompt")]
    Malformed,
    #[error("{0}")]
    Failed(String),
}

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
    ToolCall(CallRequest),
    /// Figures of the whole answer; the last event.
    Usage(Usage),
}

/// Activity of a model or an agent. Shown live, never stored.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, TS)]
#[serde(tag = "state", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Activity {
    /// Waiting for another request to end.
    Waiting,
    /// An agent at work has sent nothing for this long.
    Silent { seconds: u32 },
    /// Loading the model file into memory; from 0.0 to 1.0.
    Loading { progress: f32 },
    /// Processing the prompt, from 0.0 to 1.0; cached tokens count as processed.
    ReadingPrompt { progress: f32 },
    /// Generating tokens, visible or not: the number so far, and the mean rate over the whole answer.
    Generating { tokens: u32, tokens_per_second: f32 },
}

/// Figures of one answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, TS)]
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
    ToolCalls,
    /// The token limit or the end of the context was reached.
    MaxTokens,
}

/// Sends a request without tools and returns the text. A text that is cut off by a limit is an error. Blocks.
pub fn complete(
    model: &dyn LanguageModel,
    instructions: &str,
    prompt: String,
    cancel: &CancellationToken,
) -> Result<String, ModelError> {
    complete_within(model, instructions, prompt, (COMPLETE_TEMPERATURE, COMPLETE_TOKENS), cancel)
}

/// Like [`complete`] with another temperature and token limit.
pub fn complete_within(
    model: &dyn LanguageModel,
    instructions: &str,
    prompt: String,
    (temperature, tokens): (f32, u32),
    cancel: &CancellationToken,
) -> Result<String, ModelError> {
    let (max_tokens, effort) = (Some(tokens), ReasoningEffort::Low);
    let request = ModelRequest {
        instructions: instructions.to_owned(),
        messages: vec![Message::User { text: prompt }],
        tools: Vec::new(),
        options: ModelOptions { temperature, max_tokens, effort, ..ModelOptions::default() },
    };
    let (enough, mut text) = (cancel.child_token(), String::new());
    let answered = model.respond(&request, &enough, &mut |event| {
        if let ModelEvent::Text(piece) = event {
            text.push_str(&piece);
        }
        if text.len() > COMPLETE_BYTES {
            enough.cancel();
        }
    });
    match answered {
        Ok(StopReason::EndTurn | StopReason::ToolCalls) => Ok(text),
        Ok(StopReason::MaxTokens) => {
            Err(ModelError::Failed(format!("the answer was cut off at its limit of {tokens} tokens")))
        }
        Err(ModelError::Cancelled) if text.len() > COMPLETE_BYTES && !cancel.is_cancelled() => {
            Err(ModelError::Failed(format!("the answer was cut off at {COMPLETE_BYTES} bytes")))
        }
        Err(error) => Err(error),
    }
}
