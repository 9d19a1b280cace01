//! A scripted backend, and a client connected to it.

use openagents_apple::{FoundationModels, availability::Unavailability, budget::Fitted, client};
use openagents_apple_helper::{Backend, Exchange, serve};
use openagents_core::{
    CancellationToken,
    model::{
        CallRequest, LanguageModel, Message, ModelError, ModelEvent, ModelOptions, ModelRequest, StopReason,
        ToolSpec,
    },
};
use serde_json::Value;
use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

/// Limit of every wait; longer means a hang.
pub(crate) const HANG: Duration = Duration::from_secs(60);

type Script = dyn Fn(&Fitted, Arc<dyn Exchange>) -> Result<(), ModelError> + Send + Sync;

struct Scripted(Box<Script>);

impl Backend for Scripted {
    fn unavailability(&self) -> Option<Unavailability> {
        None
    }
    fn respond(
        &self,
        request: &Fitted,
        _: &ModelOptions,
        exchange: Arc<dyn Exchange>,
    ) -> Result<(), ModelError> {
        (self.0)(request, exchange)
    }
}

/// The client, with the helper's side of the protocol on a thread of this process.
pub(crate) fn scripted(
    script: impl Fn(&Fitted, Arc<dyn Exchange>) -> Result<(), ModelError> + Send + Sync + 'static,
) -> FoundationModels {
    let backend: Arc<dyn Backend> = Arc::new(Scripted(Box::new(script)));
    FoundationModels::connecting(move || {
        let (commands, input) = std::io::pipe().unwrap();
        let (output, reports) = std::io::pipe().unwrap();
        let backend = backend.clone();
        thread::spawn(move || serve(commands, reports, backend));
        client::connect(output, input)
    })
}

/// Calls one of the request's tools by name.
pub(crate) fn call(
    request: &Fitted,
    exchange: &Arc<dyn Exchange>,
    tool: &str,
    reply: Value,
) -> Result<String, ModelError> {
    exchange.call(request.tools.iter().find(|offered| offered.name == tool).unwrap(), reply)
}

pub(crate) fn request(text: &str, tools: Vec<ToolSpec>) -> ModelRequest {
    ModelRequest { messages: vec![Message::User { text: text.to_owned() }], tools, ..ModelRequest::default() }
}

pub(crate) fn tool(name: &str, parameters: Value) -> ToolSpec {
    ToolSpec { name: name.to_owned(), description: "Does something.".to_owned(), parameters }
}

#[derive(Debug, Default)]
pub(crate) struct Received {
    pub(crate) text: String,
    pub(crate) calls: Vec<CallRequest>,
    pub(crate) tokens: Option<u32>,
}

pub(crate) fn ask(
    models: &FoundationModels,
    request: &ModelRequest,
    cancel: &CancellationToken,
) -> (Result<StopReason, ModelError>, Received) {
    let mut reply = Received::default();
    let ended = models.respond(request, cancel, &mut |event| match event {
        ModelEvent::Text(text) => reply.text.push_str(&text),
        ModelEvent::ToolCall(call) => reply.calls.push(call),
        ModelEvent::Usage(usage) => reply.tokens = Some(usage.tokens),
        _ => {}
    });
    (ended, reply)
}

/// Adds the result of a tool.
pub(crate) fn with_result(request: &ModelRequest, reply: &Received, text: &str) -> ModelRequest {
    let mut next = request.clone();
    let call = reply.calls[0].clone();
    next.messages.push(Message::Assistant(openagents_core::model::AssistantMessage {
        calls: vec![call.clone()],
        ..Default::default()
    }));
    next.messages.push(Message::Tool { call_id: call.id, name: call.name, text: text.to_owned() });
    next
}

/// Cancelled only if a test hangs.
pub(crate) fn never() -> CancellationToken {
    let cancel = CancellationToken::new();
    let guard = cancel.clone();
    thread::spawn(move || {
        thread::sleep(HANG);
        guard.cancel();
    });
    cancel
}

pub(crate) fn wait_until(what: &str, done: impl Fn() -> bool) {
    let started = Instant::now();
    while !done() {
        assert!(started.elapsed() < HANG, "{what}");
        thread::sleep(Duration::from_millis(5));
    }
}

pub(crate) fn signal(name: &str, process: u32) -> bool {
    let sent = std::process::Command::new("kill").args([&format!("-{name}"), &process.to_string()]).output();
    sent.unwrap().status.success()
}
