//! Converts errors of the framework.

use foundation_models::FMError;
use openagents_apple::budget::CONTEXT;
use openagents_core::model::ModelError;

pub(super) fn model_error(error: &FMError, prompt_tokens: usize) -> ModelError {
    let failed = |sentence: &str| ModelError::Failed(sentence.to_owned());
    match error {
        FMError::Cancelled => ModelError::Cancelled,
        FMError::ModelUnavailable { message, .. } | FMError::AssetsUnavailable(message) => {
            ModelError::Unavailable(format!("Foundation Models are not available: {message}"))
        }
        FMError::ContextWindowExceeded(_) => {
            // It fit according to our count, but not according to the framework's.
            let needed = u32::try_from(prompt_tokens).unwrap_or(u32::MAX).max(CONTEXT + 1);
            ModelError::ContextOverflow { needed, context: CONTEXT }
        }
        FMError::GuardrailViolation(_) => {
            failed("Foundation Models refuse this prompt as unsafe; rephrase it or choose another model")
        }
        FMError::Refusal(_) => {
            failed("Foundation Models decline to answer this; rephrase it or choose another model")
        }
        FMError::UnsupportedLanguage(_) => failed(
            "Foundation Models do not speak the language of this prompt; use another one or choose another model",
        ),
        FMError::RateLimited(_) | FMError::ConcurrentRequests(_) => {
            failed("Foundation Models are busy; try again in a moment")
        }
        other => ModelError::Failed(format!("Foundation Models failed: {}; try again", other.message())),
    }
}
