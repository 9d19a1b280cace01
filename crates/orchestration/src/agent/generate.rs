//! The tool `gptoss.generate`: another model delegates an expensive task to the local one.

use super::{
    agent_loop::{SessionContext, SessionTool},
    answer::{self, Answer, Broken},
    grounding,
    instructions::quotable,
    limits::{GENERATE_FINDINGS_CHARS, GENERATE_TIME},
};
use openagents_core::{
    agent::{AgentEvent, end_call},
    agent_ids::GENERATE,
    model::{
        Availability, LanguageModel, Message, ModelError, ModelOptions, ModelRequest, StopReason, Usage,
    },
    update::{Cut, SessionUpdate, ToolCall, ToolCallStatus},
    workspace::Workspace,
};
use openagents_search::find;
use openagents_tools::tool::{ToolError, parse_arguments};
use schemars::{JsonSchema, Schema, schema_for};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::{sync::Arc, time::Instant};

/// Runs the local model on a task, without tools and without the session's history.
#[derive(Debug, Clone)]
pub struct Generate {
    /// The local model.
    pub model: Arc<dyn LanguageModel>,
    /// Defaults for options missing in the arguments.
    pub options: ModelOptions,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Arguments {
    /// What to do, with everything that is needed for it: the local model sees this and what a search of the
    /// workspace finds for it.
    user_prompt: String,
    /// Kind of the task.
    task_type: Option<TaskType>,
    /// The folder that it is about: the session's, or one inside it.
    workspace_root: Option<String>,
    /// 0 (always the likeliest word) to 1; 0.7 unless the user chose otherwise.
    #[schemars(range(min = 0.0, max = 1.0))]
    temperature: Option<f32>,
    /// Maximum number of tokens; defaults to the user's setting, otherwise no limit.
    #[schemars(range(min = 1))]
    max_tokens: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum TaskType {
    CodeGeneration,
    Documentation,
    Analysis,
    Refactoring,
}

impl TaskType {
    fn instruction(self) -> &'static str {
        match self {
            Self::CodeGeneration => "Write the code that is asked for, complete and ready to use.",
            Self::Documentation => "Write the documentation that is asked for, in Markdown.",
            Self::Analysis => "Analyse what is asked, and give the reasons.",
            Self::Refactoring => "Rework the code that is given; it does the same as before.",
        }
    }
}

impl SessionTool for Generate {
    fn name(&self) -> &'static str {
        GENERATE
    }

    fn description(&self) -> &'static str {
        "Hands a task to gpt-oss 20B on this computer: code of more than a few lines, documentation, a long analysis, a \
         refactoring. Its answer appears in the session as it is written. Not for quick answers or questions about this app."
    }

    fn schema(&self) -> Schema {
        schema_for!(Arguments)
    }

    fn is_offered_to(&self, model: &dyn LanguageModel) -> bool {
        model.id() != self.model.id()
    }

    /// If the model cannot run, the row ends as an error and the result asks the caller to answer instead.
    fn call(&self, context: &SessionContext<'_>, arguments: Value) -> Result<String, ToolError> {
        (context.emit)(AgentEvent::Update(SessionUpdate::ToolCall(ToolCall {
            call_id: context.call_id.to_owned(),
            name: GENERATE.to_owned(),
            arguments: shown(&arguments),
            ..ToolCall::default()
        })));
        let ended = self.generate(context, arguments);
        (context.emit)(AgentEvent::Activity(None));
        let (status, result) = match ended {
            Ok((text, usage)) => {
                let output = json!({
                    "tokens": usage.tokens,
                    "tokens_per_second": usage.tokens_per_second,
                    "first_token_ms": usage.first_token_ms,
                });
                (ToolCallStatus::Completed { output, cut: Cut::default() }, Ok(text))
            }
            Err(Stop::Unavailable(reason)) => {
                let message = format!("{GENERATE} unavailable: {reason}. Falling back to inline response.");
                (ToolCallStatus::Error { message: message.clone() }, Ok(message))
            }
            Err(Stop::Failed(error)) => (ToolCallStatus::Error { message: error.to_string() }, Err(error)),
        };
        end_call(context.emit, context.call_id, status);
        result
    }
}

/// The reason for missing text.
enum Stop {
    Unavailable(String),
    Failed(ToolError),
}

impl From<ToolError> for Stop {
    fn from(error: ToolError) -> Self {
        Self::Failed(error)
    }
}

impl Generate {
    fn generate(&self, context: &SessionContext<'_>, arguments: Value) -> Result<(String, Usage), Stop> {
        let mut request = self.request(context.workspace, arguments)?;
        if let Availability::Unavailable(reason) = self.model.availability() {
            return Err(Stop::Unavailable(without_full_stop(&reason)));
        }
        if let [Message::User { text }] = request.messages.as_mut_slice() {
            let found =
                find::find_in(context.workspace.root(), None, text, context.cancel).unwrap_or_default();
            if !found.findings.is_empty() {
                *text = grounding::question(text, &found, GENERATE_FINDINGS_CHARS, grounding::USE);
            }
        }
        // The figures are in the row.
        let stream = |event| match event {
            AgentEvent::Update(SessionUpdate::AgentMessage(mut message)) => {
                // The end of this answer does not end the calling turn.
                (message.usage, message.ended) = (None, false);
                if !message.text.is_empty() {
                    (context.emit)(AgentEvent::Update(SessionUpdate::AgentMessage(message)));
                }
            }
            other => (context.emit)(other),
        };
        let answered =
            answer::ask(&self.model, request, None, Instant::now() + GENERATE_TIME, context.cancel, &stream);
        let Answer { message, stop, usage, .. } = answered.map_err(|broken| match broken {
            Broken::Model(ModelError::Cancelled) => Stop::Failed(ToolError::Cancelled),
            Broken::Model(ModelError::Unavailable(reason) | ModelError::Load(reason)) => {
                Stop::Unavailable(without_full_stop(&reason))
            }
            Broken::Model(error) => Stop::Failed(ToolError::ExecutionFailed(error.to_string())),
            Broken::OutOfTime => {
                let minutes = GENERATE_TIME.as_secs() / 60;
                Stop::Failed(ToolError::ExecutionFailed(format!("no answer within {minutes} minutes")))
            }
        })?;
        let mut text = message.text;
        if stop == StopReason::MaxTokens {
            text.push_str("\n(Cut off: the limit of tokens was reached.)");
        }
        Ok((text, usage.unwrap_or_default()))
    }

    fn request(&self, workspace: &Workspace, arguments: Value) -> Result<ModelRequest, ToolError> {
        let arguments: Arguments = parse_arguments(arguments)?;
        let invalid = |reason: String| Err(ToolError::InvalidParameters(reason));
        if arguments.user_prompt.trim().is_empty() {
            return invalid("user_prompt is empty".to_owned());
        }
        let mut folder = workspace.name().to_owned();
        if let Some(root) = &arguments.workspace_root {
            let Ok(path) = workspace.resolve(root) else {
                return invalid(format!("workspace_root {root} is not in the workspace of this session"));
            };
            folder = format!("{folder}/{}", Workspace::shown(&path)).trim_end_matches("/.").to_owned();
        }
        let task = arguments.task_type.map(TaskType::instruction).unwrap_or_default();
        let about =
            format!("The work is about the folder \"{}\". Answer in Markdown. {task}", quotable(&folder));
        let options = ModelOptions {
            temperature: arguments.temperature.unwrap_or(self.options.temperature),
            max_tokens: arguments.max_tokens.or(self.options.max_tokens),
            ..self.options
        };
        Ok(ModelRequest {
            instructions: about.trim_end().to_owned(),
            messages: vec![Message::User { text: arguments.user_prompt }],
            tools: Vec::new(),
            options,
        })
    }
}

/// Returns the arguments as given, and the provider that runs them.
fn shown(arguments: &Value) -> Map<String, Value> {
    let provider = ("provider".to_owned(), "gptoss".into());
    let given = arguments.as_object().cloned().unwrap_or_default();
    std::iter::once(provider).chain(given.into_iter().filter(|(key, _)| key != "provider")).collect()
}

fn without_full_stop(reason: &str) -> String {
    reason.trim_end_matches('.').to_owned()
}

#[cfg(test)]
#[path = "generate_tests.rs"]
mod tests;
