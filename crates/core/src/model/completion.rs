//! A single request with a text as result, for stages that need no stream.

use super::{
    event::ModelEvent,
    language_model::{LanguageModel, ModelError},
    request::{Message, ModelOptions, ModelRequest, ReasoningEffort},
};
use crate::CancellationToken;

/// Token limit, including reasoning.
const TOKENS: u32 = 1024;

/// Maximum length of the text in bytes; later output is discarded.
const BYTES: usize = 16 << 10;

/// Low, so that two runs on the same folder rarely differ.
const TEMPERATURE: f32 = 0.2;

/// Sends a request without tools and returns the text. Blocks.
pub(crate) fn complete(
    model: &dyn LanguageModel,
    instructions: &str,
    prompt: String,
    cancel: &CancellationToken,
) -> Result<String, ModelError> {
    complete_within(model, instructions, prompt, (TEMPERATURE, TOKENS), cancel)
}

/// Like [`complete`] with another temperature and token limit.
pub(crate) fn complete_within(
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
        Err(ModelError::Cancelled) if text.len() > BYTES && !cancel.is_cancelled() => {}
        other => drop(other?),
    }
    text.truncate(text.floor_char_boundary(BYTES));
    Ok(text)
}
