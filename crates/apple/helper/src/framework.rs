//! Bindings to Apple's framework. No other module uses it.

use crate::backend::{Backend, Exchange};
use foundation_models::{
    Availability, DynamicGenerationProperty, DynamicGenerationSchema, FMError, GeneratedContent,
    GenerationGuide, GenerationOptions, GenerationSchema, Instructions, LanguageModelSession, Prompt,
    SamplingMode, Segment as FrameworkSegment, StreamEvent, SystemLanguageModel, Tool, ToolCall, ToolCalls,
    ToolOutput, ToolSpec, Transcript, TranscriptEntry, TranscriptInstructions, TranscriptPrompt,
    TranscriptResponse, TranscriptToolOutput, Unavailability as Reported,
};
use openagents_apple::{
    adapter::{FoundationTool, Parameters, Segment},
    availability::Unavailability,
    budget::{CONTEXT, Fitted},
    schema::{DynamicSchema, Node, OfferedTool, Presence},
};
use openagents_core::model::{Message, ModelError, ModelOptions};
use openagents_tools::tool::{ToolContext, ToolError};
use parking_lot::Mutex;
use serde_json::Value;
use std::{fmt, sync::Arc};

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
            (None, Err(error)) => Err(model_error(&error, request.prompt_tokens)),
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
        let (earlier, prompt) = split(request, &offered, &tools)?;
        let builder = LanguageModelSession::builder().tools(tools);
        let builder = match earlier {
            Earlier::None if request.instructions.is_empty() => builder,
            Earlier::None => builder.instructions(request.instructions.as_str())?,
            Earlier::Transcript(transcript) => builder.transcript(transcript),
        };
        let session = builder.build()?;

        let (exchange, failure) = (exchange.clone(), failure.clone());
        session.stream_with(&prompt, generation(request, options), move |event| {
            let sent = match event {
                StreamEvent::Chunk(text) => exchange.send_text(text),
                // Text that was sent can't be taken back.
                StreamEvent::Replace(text) => exchange.send_text(&format!("\n\n{text}")),
                _ => Ok(()),
            };
            if let Err(error) = sent {
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
    let (tool, parameters) = match to_framework(&tool.schema()) {
        Ok(parameters) => (tool.clone(), parameters),
        Err(error) => {
            tracing::warn!(tool = tool.name, %error, "the framework rejects the schema");
            let tool = tool.behind_proxy();
            let parameters = to_framework(&tool.schema())?;
            (tool, parameters)
        }
    };
    let (called, exchange, failure) = (tool.clone(), exchange.clone(), failure.clone());
    let handler = move |generated: GeneratedContent| {
        let result = exchange.call(&called, generated.into_raw_value());
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

fn model_error(error: &FMError, prompt_tokens: usize) -> ModelError {
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

/// The prompt for a conversation that ends with a tool's result, since the framework requires a prompt.
const CONTINUE_PROMPT: &str = "Go on with the results of the tools.";

enum Earlier {
    None,
    Transcript(Transcript),
}

fn split(request: &Fitted, offered: &[OfferedTool], tools: &[Tool]) -> Result<(Earlier, String), FMError> {
    let (earlier, prompt) = match request.messages.split_last() {
        Some((Message::User { text }, earlier)) => (earlier, text.clone()),
        _ => (request.messages.as_slice(), CONTINUE_PROMPT.to_owned()),
    };
    if earlier.is_empty() {
        return Ok((Earlier::None, prompt));
    }
    let mut instructions = TranscriptInstructions::new(Instructions::from(request.instructions.as_str()));
    instructions.tool_definitions = tools.iter().map(Tool::definition).collect();
    let mut entries = vec![TranscriptEntry::Instructions(instructions)];
    for message in earlier {
        match message {
            Message::User { text } => {
                entries.push(TranscriptEntry::Prompt(TranscriptPrompt::new(Prompt::from(text.as_str()))));
            }
            Message::Assistant(message) => {
                if !message.text.is_empty() {
                    let segments = vec![FrameworkSegment::text(message.text.as_str())];
                    entries.push(TranscriptEntry::Response(TranscriptResponse::new(segments)));
                }
                let calls = message.calls.iter().map(|call| {
                    let tool = offered.iter().find(|tool| tool.name == call.name);
                    let arguments = tool.map_or_else(
                        || call.arguments.clone(),
                        |tool| tool.to_model_arguments(&call.arguments),
                    );
                    Ok(ToolCall::new(&call.id, &call.name, GeneratedContent::from_value(arguments)?))
                });
                let calls = calls.collect::<Result<Vec<_>, FMError>>()?;
                if !calls.is_empty() {
                    entries.push(TranscriptEntry::ToolCalls(ToolCalls::new(calls)));
                }
            }
            Message::Tool { call_id, name, text } => {
                let segments = vec![FrameworkSegment::text(text.as_str())];
                entries.push(TranscriptEntry::ToolOutput(TranscriptToolOutput::new(call_id, name, segments)));
            }
        }
    }
    Ok((Earlier::Transcript(Transcript::from_entries(entries)), prompt))
}

/// The implementation of a framework tool. Takes the generated arguments and the tool context.
pub type Handler =
    Box<dyn Fn(&ToolContext<'_>, GeneratedContent) -> Result<ToolOutput, FMError> + Send + Sync>;

/// A framework tool: its specification and its implementation.
pub struct Native {
    /// Name, description and parameters, from a `@Generable` type or dynamic.
    pub spec: ToolSpec,
    /// Runs the tool.
    pub handler: Handler,
}

impl fmt::Debug for Native {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Native").field("spec", &self.spec).finish_non_exhaustive()
    }
}

impl FoundationTool for Native {
    fn name(&self) -> &str {
        &self.spec.name
    }

    fn description(&self) -> &str {
        &self.spec.description
    }

    fn parameters(&self) -> Parameters {
        from_framework(&self.spec.parameters)
    }

    fn call(&self, context: &ToolContext<'_>, arguments: Value) -> Result<Vec<Segment>, ToolError> {
        let failed = |error: FMError| match error {
            FMError::Cancelled => ToolError::Cancelled,
            FMError::InvalidArgument(message) | FMError::DecodingFailure(message) => {
                ToolError::InvalidParameters(message.to_string())
            }
            other => ToolError::ExecutionFailed(other.message().to_owned()),
        };
        let arguments = GeneratedContent::from_value(arguments).map_err(failed)?;
        let output = (self.handler)(context, arguments).map_err(failed)?;
        let segments = output.prompt().segments().iter().map(|segment| match segment {
            FrameworkSegment::Text(text) => Segment::Text(text.text.clone()),
            FrameworkSegment::Structure(structure) => {
                Segment::Structured(structure.content.raw_value().clone())
            }
        });
        Ok(segments.collect())
    }
}

fn to_framework(schema: &DynamicSchema) -> Result<GenerationSchema, FMError> {
    GenerationSchema::from_dynamic(dynamic_node(&schema.root), schema.definitions.iter().map(dynamic_node))
}

fn from_framework(schema: &GenerationSchema) -> Parameters {
    // An unparseable schema of the framework allows any arguments.
    Parameters::Guided(serde_json::from_str(schema.json_schema()).unwrap_or_default())
}

fn dynamic_node(schema: &Node) -> DynamicGenerationSchema {
    use DynamicGenerationSchema as Theirs;
    match schema {
        Node::Object { name, description, properties } => {
            let object = properties.iter().fold(Theirs::object(name), |object, property| {
                let optional = property.presence != Presence::Required;
                let mut theirs =
                    DynamicGenerationProperty::new(dynamic_node(&property.schema)).optional(optional);
                if let Some(text) = &property.description {
                    theirs = theirs.with_description(text);
                }
                object.with_property(&property.name, theirs)
            });
            described(object, description.as_deref())
        }
        Node::AnyOf { name, description, choices } => described(
            Theirs::any_of(name, choices.iter().map(dynamic_node).collect()),
            description.as_deref(),
        ),
        Node::Enum { name, choices } => Theirs::any_of_strings(name, choices),
        Node::String => Theirs::string(),
        Node::Boolean => Theirs::boolean(),
        Node::Integer { minimum, maximum } => {
            let guides =
                [minimum.map(GenerationGuide::minimum_i64), maximum.map(GenerationGuide::maximum_i64)];
            Theirs::integer().with_guides(guides.into_iter().flatten())
        }
        Node::Number { minimum, maximum } => {
            let guides =
                [minimum.map(GenerationGuide::minimum_f64), maximum.map(GenerationGuide::maximum_f64)];
            Theirs::number().with_guides(guides.into_iter().flatten())
        }
        Node::Array { items, minimum, maximum } => {
            Theirs::array_of(dynamic_node(items)).with_element_bounds(*minimum, *maximum)
        }
        Node::Reference(name) => Theirs::reference(name),
    }
}

fn described(schema: DynamicGenerationSchema, description: Option<&str>) -> DynamicGenerationSchema {
    match description {
        Some(text) => schema.with_description(text),
        None => schema,
    }
}
