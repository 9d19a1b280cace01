//! A single request that returns text, for stages that need no stream.

use super::{
    event::{ModelEvent, StopReason},
    language_model::{LanguageModel, ModelError},
    request::{Message, ModelOptions, ModelRequest, ReasoningEffort},
};
use crate::CancellationToken;

/// Token limit, including reasoning.
const TOKENS: u32 = 1024;

/// Maximum length of the text in bytes.
const BYTES: usize = 16 << 10;

/// Low, so that two runs on the same folder rarely differ.
const TEMPERATURE: f32 = 0.2;

/// Sends a request without tools and returns the text. A text that is cut off by a limit is an error. Blocks.
pub fn complete(
    model: &dyn LanguageModel,
    instructions: &str,
    prompt: String,
    cancel: &CancellationToken,
) -> Result<String, ModelError> {
    complete_within(model, instructions, prompt, (TEMPERATURE, TOKENS), cancel)
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
        if text.len() > BYTES {
            enough.cancel();
        }
    });
    match answered {
        Ok(StopReason::EndTurn | StopReason::ToolCalls) => Ok(text),
        Ok(StopReason::MaxTokens) => {
            Err(ModelError::Failed(format!("the answer was cut off at its limit of {tokens} tokens")))
        }
        Err(ModelError::Cancelled) if text.len() > BYTES && !cancel.is_cancelled() => {
            Err(ModelError::Failed(format!("the answer was cut off at {BYTES} bytes")))
        }
        Err(error) => Err(error),
    }
}
