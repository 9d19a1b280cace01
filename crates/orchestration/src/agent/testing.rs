//! A scripted model, and a readable form of a turn's updates.

use super::*;
use openagents_core::{
    CancellationToken,
    agent::{AgentEvent, Conversation, PromptOutcome},
    model::{
        Activity, Availability, CallRequest, Capabilities, LanguageModel, ModelError, ModelEvent,
        ModelOptions, ModelRequest, StopReason, Usage,
    },
    update::{AgentMessage, SessionUpdate, ToolCallStatus, UserMessage},
};
use openagents_tools::builtin::{self, testing::Bench};
use openagents_transcripts::history::History;
use serde_json::Value;
use std::sync::{Arc, Mutex};

pub(crate) type Answer =
    fn(&ModelRequest, &CancellationToken, &mut dyn FnMut(ModelEvent)) -> Result<StopReason, ModelError>;

/// A model that returns its answers in order and records the requests.
#[derive(Debug, Default)]
pub(crate) struct Scripted {
    pub(crate) id: Option<&'static str>,
    pub(crate) answers: Vec<Answer>,
    pub(crate) asked: Mutex<Vec<ModelRequest>>,
    pub(crate) unavailable: Option<&'static str>,
    /// Loading reveals that it does not support tools.
    pub(crate) no_tools_once_asked: bool,
    pub(crate) context_tokens: Option<u32>,
}

impl LanguageModel for Scripted {
    fn id(&self) -> &str {
        self.id.unwrap_or("scripted")
    }
    fn name(&self) -> String {
        "The script".to_owned()
    }
    fn capabilities(&self) -> Capabilities {
        let tools = !self.no_tools_once_asked || self.asked.lock().unwrap().is_empty();
        Capabilities { tools, local: true, loaded: true }
    }
    fn context_tokens(&self) -> Option<u32> {
        self.context_tokens
    }
    fn availability(&self) -> Availability {
        self.unavailable.map_or(Availability::Ready, |reason| Availability::Unavailable(reason.to_owned()))
    }
    fn respond(
        &self,
        request: &ModelRequest,
        cancel: &CancellationToken,
        on_event: &mut dyn FnMut(ModelEvent),
    ) -> Result<StopReason, ModelError> {
        let number = {
            let mut asked = self.asked.lock().unwrap();
            asked.push(request.clone());
            asked.len() - 1
        };
        // The last answer repeats.
        self.answers[number.min(self.answers.len() - 1)](request, cancel, on_event)
    }
}

pub(crate) fn speak(text: &str) -> ModelEvent {
    ModelEvent::Text(text.to_owned())
}

pub(crate) fn ask(name: &str, arguments: Value) -> ModelEvent {
    ModelEvent::ToolCall(CallRequest { id: "call".to_owned(), name: name.to_owned(), arguments })
}

pub(crate) fn figures() -> ModelEvent {
    ModelEvent::Usage(Usage { tokens: 7, tokens_per_second: 2.5, first_token_ms: 40, ..Usage::default() })
}

pub(crate) fn script(answers: &[Answer]) -> Arc<Scripted> {
    Arc::new(Scripted { answers: answers.to_vec(), ..Scripted::default() })
}

pub(crate) fn agent(model: Arc<Scripted>) -> AgentLoop {
    AgentLoop {
        model,
        options: ModelOptions::default(),
        tools: builtin::toolbox(Arc::new(History::empty())),
        session_tools: Vec::new(),
    }
}

pub(crate) fn request(bench: &Bench) -> PromptRequest {
    PromptRequest {
        root: bench.root().to_path_buf(),
        text: "What is this?".to_owned(),
        words: None,
        transcript: Conversation::default(),
        findings: None,
        delegated: false,
    }
}

pub(crate) struct Recorded {
    pub(crate) outcome: PromptOutcome,
    pub(crate) updates: Vec<SessionUpdate>,
    pub(crate) activities: Vec<Option<Activity>>,
}

pub(crate) fn run(agent: &AgentLoop, request: &PromptRequest) -> Recorded {
    let events = Mutex::new(Vec::new());
    let outcome =
        agent.prompt(request, &CancellationToken::new(), &|event| events.lock().unwrap().push(event));
    recorded(outcome, events.into_inner().unwrap())
}

pub(crate) fn recorded(outcome: PromptOutcome, events: Vec<AgentEvent>) -> Recorded {
    let (mut updates, mut activities) = (Vec::new(), Vec::new());
    for event in events {
        match event {
            AgentEvent::Update(update) => updates.push(update),
            AgentEvent::Activity(activity) => activities.push(activity),
        }
    }
    Recorded { outcome, updates, activities }
}

/// One line per update; chunks of one message are joined regardless of timing.
pub(crate) fn story(updates: &[SessionUpdate]) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut message: Option<(Option<String>, String)> = None;
    let mut ids = std::collections::HashMap::new();
    for update in updates {
        if let SessionUpdate::AgentMessage(chunk) = update {
            let figures = if chunk.usage.is_some() { "⏱" } else { "" };
            let text = format!("{}{figures}", chunk.text);
            match &mut message {
                Some((id, known)) if *id == chunk.message_id => known.push_str(&text),
                _ => {
                    lines.extend(message.take().map(|(_, text)| format!("message {text}")));
                    message = Some((chunk.message_id.clone(), text));
                }
            }
            continue;
        }
        lines.extend(message.take().map(|(_, text)| format!("message {text}")));
        lines.push(match update {
            SessionUpdate::ToolCall(call) => {
                let number = ids.len() + 1;
                ids.insert(call.call_id.clone(), number);
                format!("call #{number} {} {}", call.name, Value::Object(call.arguments.clone()))
            }
            SessionUpdate::ToolCallUpdate(update) => match &update.status {
                ToolCallStatus::Completed { output, .. } => format!("end #{} {output}", ids[&update.call_id]),
                ToolCallStatus::Error { message } => format!("error #{} {message}", ids[&update.call_id]),
                other => format!("{other:?}"),
            },
            SessionUpdate::AgentThought(thought) => format!("thought {}", thought.text),
            other => format!("{other:?}"),
        });
    }
    lines.extend(message.map(|(_, text)| format!("message {text}")));
    lines.join("\n")
}

pub(crate) fn prompt(text: &str) -> SessionUpdate {
    SessionUpdate::UserMessage(UserMessage { text: text.to_owned(), ..UserMessage::default() })
}

pub(crate) fn answer(text: &str) -> SessionUpdate {
    let usage = Some(Usage::default());
    SessionUpdate::AgentMessage(AgentMessage { text: text.to_owned(), usage, ..AgentMessage::default() })
}
