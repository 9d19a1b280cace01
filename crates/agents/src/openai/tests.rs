//! End-to-end tests over TCP with the responses of other servers.

mod dialects;
mod network;
mod quirks;

use super::*;
use openagents_core::model::{AssistantMessage, CallRequest, Message, ToolSpec};
use openagents_e2e::openai::Server;
use serde_json::json;
use std::time::Duration;

/// Short enough for a test, long enough for a busy machine.
fn timeouts() -> RequestTimeouts {
    RequestTimeouts {
        pause: Duration::from_millis(1),
        longest_pause: Duration::from_secs(2),
        ..RequestTimeouts::default()
    }
}

fn endpoint(server: &Server) -> Endpoint {
    let key = KeySource::Given(Secret::new("sk-very-secret").unwrap());
    Endpoint { key, ..Endpoint::named("some-model", Some(&server.base_url()), None) }
}

fn model(server: &Server) -> OpenAi {
    OpenAi::with_timeouts(endpoint(server), timeouts()).unwrap()
}

fn request(text: &str) -> ModelRequest {
    let parameters = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    let tool = |name: &str| ToolSpec {
        name: name.to_owned(),
        description: "A tool.".to_owned(),
        parameters: parameters.clone(),
    };
    ModelRequest {
        instructions: "Be brief.".to_owned(),
        messages: vec![Message::User { text: text.to_owned() }],
        tools: vec![tool("fs.list_dir"), tool("content.get_span")],
        ..ModelRequest::default()
    }
}

/// A model's answer as one message, and its end.
#[derive(Debug)]
struct Heard {
    message: AssistantMessage,
    usage: Option<openagents_core::model::Usage>,
    ended: Result<StopReason, ModelError>,
}

impl Heard {
    fn thoughts(&self) -> &str {
        self.message.reasoning.for_template()
    }

    fn calls(&self) -> Vec<(&str, &serde_json::Value)> {
        self.message.calls.iter().map(|call: &CallRequest| (call.name.as_str(), &call.arguments)).collect()
    }

    fn sentence(&self) -> String {
        self.ended.as_ref().map_or_else(ToString::to_string, |stop| format!("no error but {stop:?}"))
    }
}

fn ask(model: &OpenAi, request: &ModelRequest) -> Heard {
    hear(model, request, &CancellationToken::new(), |_| ())
}

fn hear(
    model: &OpenAi,
    request: &ModelRequest,
    cancel: &CancellationToken,
    mut on_event: impl FnMut(&ModelEvent),
) -> Heard {
    let (mut message, mut usage) = (AssistantMessage::default(), None);
    let ended = model.respond(request, cancel, &mut |event| {
        on_event(&event);
        match event {
            ModelEvent::Activity(_) => {}
            ModelEvent::Text(text) => message.text.push_str(&text),
            ModelEvent::Preamble(text) => message.preamble.push_str(&text),
            ModelEvent::Reasoning(thought) => message.reasoning.push(&thought),
            ModelEvent::ToolCall(call) => message.calls.push(call),
            ModelEvent::Usage(figures) => usage = Some(figures),
        }
    });
    Heard { message, usage, ended }
}
