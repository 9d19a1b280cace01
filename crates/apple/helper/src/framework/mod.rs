//! Bindings to Apple's framework. No other module uses it.

mod conversation;
mod errors;
mod native;
mod schema;

pub use native::{Handler, Native};

use crate::backend::{Backend, Exchange};
use foundation_models::{
    Availability, FMError, GeneratedContent, GenerationOptions, LanguageModelSession, SamplingMode,
    StreamEvent, SystemLanguageModel, Tool, ToolOutput, Unavailability as Reported,
};
use openagents_apple::{availability::Unavailability, budget::Fitted, schema::OfferedTool};
use openagents_core::model::{ModelError, ModelOptions};
use parking_lot::Mutex;
use std::sync::Arc;

/// The model built into macOS.
#[derive(Debug, Default)]
pub(crate) struct Framework;

impl Backend for Framework {
    fn unavailability(&self) -> Option<Unavailability> {
        match SystemLanguageModel::availability() {
            Availability::Available => None,
            Availability::Unavailable(Reported::DeviceNotEligible) => Some(Unavailability::NotEligible),
            Availability::Unavailable(Reported::AppleIntelligenceNotEnabled) => {
                Some(Unavailability::NotEnabled)
            }
            Availability::Unavailable(Reported::ModelNotReady) => Some(Unavailability::NotReady),
            Availability::Unavailable(Reported::OsTooOld) => {
                let version = openagents_apple::availability::Facts::of_this_machine().version;
                Some(Unavailability::OsTooOld { version: version.unwrap_or_else(|| "older".to_owned()) })
            }
            _ => Some(Unavailability::Unknown),
        }
    }

    /// Requires macOS 26.4.
    fn count(&self, text: &str) -> Option<usize> {
        futures::executor::block_on(SystemLanguageModel::token_count(text)).ok()
    }

    fn respond(
        &self,
        request: &Fitted,
        options: &ModelOptions,
        exchange: Arc<dyn Exchange>,
    ) -> Result<(), ModelError> {
        let failure = Failure::default();
        let answered = self.answer(request, options, &exchange, &failure);
        // Our own error is more specific than the framework's.
        match (failure.take(), answered) {
            (Some(error), _) => Err(error),
            (None, Ok(())) => Ok(()),
            (None, Err(_)) if exchange.cancel().is_cancelled() => Err(ModelError::Cancelled),
            (None, Err(error)) => Err(errors::model_error(&error, request.prompt_tokens)),
        }
    }
}

impl Framework {
    fn answer(
        &self,
        request: &Fitted,
        options: &ModelOptions,
        exchange: &Arc<dyn Exchange>,
        failure: &Failure,
    ) -> Result<(), FMError> {
        let (mut offered, mut tools) = (Vec::new(), Vec::new());
        for tool in &request.tools {
            let (taken, native) = native_tool(tool, exchange, failure)?;
            offered.push(taken);
            tools.push(native);
        }
        let (earlier, prompt) = conversation::split(request, &offered, &tools)?;
        let builder = LanguageModelSession::builder().tools(tools);
        let builder = match earlier {
            conversation::Earlier::Nothing if request.instructions.is_empty() => builder,
            conversation::Earlier::Nothing => builder.instructions(request.instructions.as_str())?,
            conversation::Earlier::Said(transcript) => builder.transcript(transcript),
        };
        let session = builder.build()?;

        let (exchange, failure) = (exchange.clone(), failure.clone());
        session.stream_with(&prompt, generation(request, options), move |event| {
            let said = match event {
                StreamEvent::Chunk(text) => exchange.say(text),
                // Text that was sent can't be taken back.
                StreamEvent::Replace(text) => exchange.say(&format!("\n\n{text}")),
                _ => Ok(()),
            };
            if let Err(error) = said {
                failure.set(error);
                // The only way to stop a stream from within: the binding catches the panic and cancels.
                std::panic::resume_unwind(Box::new("the answer is not wanted any more"));
            }
        })
    }
}

/// Creates a framework tool. If the framework rejects its schema, the tool uses the proxy.
fn native_tool(
    tool: &OfferedTool,
    exchange: &Arc<dyn Exchange>,
    failure: &Failure,
) -> Result<(OfferedTool, Tool), FMError> {
    let (tool, parameters) = match schema::to_framework(&tool.schema()) {
        Ok(parameters) => (tool.clone(), parameters),
        Err(error) => {
            tracing::warn!(tool = tool.name, %error, "the framework rejects the schema");
            let tool = tool.behind_proxy();
            let parameters = schema::to_framework(&tool.schema())?;
            (tool, parameters)
        }
    };
    let (called, exchange, failure) = (tool.clone(), exchange.clone(), failure.clone());
    let handler = move |said: GeneratedContent| {
        let result = exchange.call(&called, said.into_raw_value());
        result.map(ToolOutput::text).map_err(|error| {
            let message = error.to_string();
            failure.set(error);
            FMError::ToolCallFailed(message.into())
        })
    };
    let native = Tool::new(tool.name.clone(), tool.description.clone(), parameters, handler);
    Ok((tool, native))
}

fn generation(request: &Fitted, options: &ModelOptions) -> GenerationOptions {
    let generation = GenerationOptions::new()
        .with_temperature(f64::from(options.temperature))
        .with_maximum_response_tokens(request.answer_tokens);
    if options.temperature == 0.0 {
        return generation.with_sampling(SamplingMode::Greedy);
    }
    let generation = generation.with_sampling(SamplingMode::TopP(f64::from(options.top_p.clamp(0.0, 1.0))));
    match options.seed {
        Some(seed) => generation.with_sampling_seed(u64::from(seed)),
        None => generation,
    }
}

/// The first error on our side.
#[derive(Clone, Default)]
struct Failure(Arc<Mutex<Option<ModelError>>>);

impl Failure {
    fn set(&self, error: ModelError) {
        self.0.lock().get_or_insert(error);
    }

    fn take(&self) -> Option<ModelError> {
        self.0.lock().take()
    }
}
