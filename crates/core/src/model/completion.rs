//! One question, one text: for stages that need no stream.

use super::{LanguageModel, Message, ModelError, ModelEvent, ModelOptions, ModelRequest, ReasoningEffort};
use crate::CancellationToken;

/// Tokens of such a text, the thinking included.
const TOKENS: u32 = 1024;

/// Bytes of such a text; what comes after them is not waited for.
const BYTES: usize = 16 << 10;

/// Sampled closely: two runs on the same folder should not differ for no reason.
const TEMPERATURE: f32 = 0.2;

/// Asks without tools and returns what the model said. Blocks.
pub(crate) fn complete(
    model: &dyn LanguageModel,
    instructions: &str,
    prompt: String,
    cancel: &CancellationToken,
) -> Result<String, ModelError> {
    let request = ModelRequest {
        instructions: instructions.to_owned(),
        messages: vec![Message::User { text: prompt }],
        tools: Vec::new(),
        options: ModelOptions {
            temperature: TEMPERATURE,
            max_tokens: Some(TOKENS),
            effort: ReasoningEffort::Low,
            ..ModelOptions::default()
        },
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
