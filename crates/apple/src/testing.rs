//! This product's tools, as offered to a model.

use openagents_core::{
    CancellationToken,
    model::{
        Availability, CallRequest, Capabilities, LanguageModel, Message, ModelError, ModelEvent,
        ModelOptions, ModelRequest, StopReason, ToolSpec,
    },
};
use openagents_orchestration::{
    agent::{Generate, SessionTool},
    delegate::{Delegate, DelegateOrder, DelegateReport, Delegator},
    route::{Candidate, Situation},
};
use openagents_tools::builtin;
use serde_json::Value;
use std::sync::Arc;

/// A model that calls one tool and then answers.
#[derive(Debug)]
struct Scripted {
    call: CallRequest,
    answer: &'static str,
}

pub(crate) fn ask(tool: &str, arguments: Value, answer: &'static str) -> Arc<dyn LanguageModel> {
    let call = CallRequest { id: "call".to_owned(), name: tool.to_owned(), arguments };
    Arc::new(Scripted { call, answer })
}

impl LanguageModel for Scripted {
    fn id(&self) -> &str {
        "scripted"
    }
    fn name(&self) -> String {
        "The script".to_owned()
    }
    fn capabilities(&self) -> Capabilities {
        Capabilities { tools: true, local: true, loaded: true }
    }
    fn availability(&self) -> Availability {
        Availability::Ready
    }
    fn respond(
        &self,
        request: &ModelRequest,
        _: &CancellationToken,
        on_event: &mut dyn FnMut(ModelEvent),
    ) -> Result<StopReason, ModelError> {
        if request.messages.iter().any(|message| matches!(message, Message::Tool { .. })) {
            on_event(ModelEvent::Text(self.answer.to_owned()));
            return Ok(StopReason::EndTurn);
        }
        on_event(ModelEvent::ToolCall(self.call.clone()));
        Ok(StopReason::ToolCalls)
    }
}

/// A delegator without agents.
#[derive(Debug)]
struct NoAgents;

impl Delegator for NoAgents {
    fn situation(&self) -> Situation {
        Situation::default()
    }
    fn ask(&self, _: &str, _: &[Candidate], _: &str, _: &CancellationToken) -> Option<String> {
        None
    }
    fn run(&self, _: &DelegateOrder, call_id: &str, _: &CancellationToken) -> DelegateReport {
        DelegateReport {
            ok: false,
            provider: String::new(),
            dispatched: false,
            session_id: None,
            tool_call_id: call_id.to_owned(),
            notes: String::new(),
        }
    }
}

pub(crate) fn spec(name: &str, parameters: Value) -> ToolSpec {
    ToolSpec { name: name.to_owned(), description: "Does something. And more.".to_owned(), parameters }
}

fn spec_of(name: &str, description: &str, schema: schemars::Schema) -> ToolSpec {
    let mut parameters = schema.to_value();
    for key in ["$schema", "title", "description"] {
        parameters.as_object_mut().unwrap().remove(key);
    }
    ToolSpec { name: name.to_owned(), description: description.to_owned(), parameters }
}

pub(crate) fn ours() -> Vec<ToolSpec> {
    let own: [Arc<dyn SessionTool>; 3] = [
        Arc::new(Delegate::new(Arc::new(NoAgents))),
        Arc::new(Delegate::to_codex(Arc::new(NoAgents))),
        Arc::new(Generate { model: ask("", Value::Null, ""), options: ModelOptions::default() }),
    ];
    let registry = builtin::registry();
    let plain = registry.iter().map(|tool| spec_of(tool.name(), tool.description(), tool.schema()));
    plain.chain(own.iter().map(|tool| spec_of(tool.name(), tool.description(), tool.schema()))).collect()
}
