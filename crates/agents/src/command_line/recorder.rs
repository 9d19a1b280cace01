//! Records one turn in the log of a session: announces each call once, always closes it, and ends with one outcome.

use super::event::{Call, Event};
use openagents_core::{
    agent::{AgentEvent, AgentHost, CANCELLED, PromptOutcome},
    update::{
        AgentMessage, AgentThought, Cut, RunState, SessionUpdate, ToolCall, ToolCallDetails, ToolCallStatus,
        ToolCallUpdate, ToolContent,
    },
};
use serde_json::Value;
use std::collections::HashMap;
use uuid::Uuid;

pub(super) struct Recorder<'a> {
    host: &'a dyn AgentHost,
    /// Our ids of the running calls, by the program's ids.
    open: HashMap<String, Open>,
    /// The last message and its id.
    last: Option<(String, String)>,
}

struct Open {
    call_id: String,
    /// Content of the announcement; a diff is kept when the call ends.
    content: Vec<ToolContent>,
}

impl<'a> Recorder<'a> {
    pub(super) fn new(host: &'a dyn AgentHost) -> Self {
        Self { host, open: HashMap::new(), last: None }
    }

    pub(super) fn record(&mut self, event: Event) {
        match event {
            Event::Message(text) if !text.is_empty() => {
                let id = fresh_id();
                self.message(&text, &id, false);
                self.last = Some((text, id));
            }
            Event::Thought(text) if !text.is_empty() => {
                let thought = AgentThought { text, message_id: Some(fresh_id()), ..AgentThought::default() };
                self.emit(SessionUpdate::AgentThought(thought));
            }
            Event::Started(call) if !self.open.contains_key(&call.id) => self.begin(call),
            Event::Progressed { id, content, end } => self.progressed(&id, content, end),
            _ => {}
        }
    }

    fn begin(&mut self, call: Call) {
        let call_id = fresh_id();
        let Call { id, name, title, kind, arguments, locations, content } = call;
        let details = ToolCallDetails {
            title: Some(title),
            kind: Some(kind),
            raw_input: None,
            locations,
            content: content.clone(),
        };
        self.open.insert(id, Open { call_id: call_id.clone(), content });
        self.emit(SessionUpdate::ToolCall(ToolCall {
            call_id: call_id.clone(),
            name,
            arguments,
            op_hash: None,
            stage: None,
            details,
        }));
        let started = ToolCallStatus::Started { progress: 0.0, note: None };
        self.update(call_id, started, Vec::new());
    }

    fn progressed(&mut self, id: &str, content: Vec<ToolContent>, end: Option<Result<Value, String>>) {
        let Some(open) = self.open.get(id) else { return };
        let call_id = open.call_id.clone();
        let keeps_diff = open.content.iter().any(|shown| matches!(shown, ToolContent::Diff { .. }));
        let content = if keeps_diff { Vec::new() } else { content };
        let status = match end {
            None => ToolCallStatus::Unchanged,
            Some(end) => {
                self.open.remove(id);
                match end {
                    Ok(output) => ToolCallStatus::Completed { output, cut: Cut::default() },
                    Err(message) => ToolCallStatus::Error { message },
                }
            }
        };
        self.update(call_id, status, content);
    }

    /// The turn ended by itself.
    pub(super) fn complete(mut self) -> PromptOutcome {
        self.close("the turn ended before it did");
        let (text, id) = self.last.take().unwrap_or_else(|| ("Done.".to_owned(), String::new()));
        // The end of the last message, or a text for a turn without any.
        if id.is_empty() {
            self.message(&text, &fresh_id(), true)
        } else {
            self.message("", &id, true)
        }
        outcome(RunState::Complete, text)
    }

    /// The turn was cancelled.
    pub(super) fn cancelled(mut self) -> PromptOutcome {
        self.close("cancelled");
        self.message(CANCELLED, &fresh_id(), true);
        outcome(RunState::Cancelled, CANCELLED.to_owned())
    }

    /// The turn failed, for this reason (a clause).
    pub(super) fn failed(mut self, why: &str) -> PromptOutcome {
        self.close("the turn failed");
        let text = format!("❌ {why}");
        self.message(&text, &fresh_id(), true);
        outcome(RunState::Failed, text)
    }

    fn close(&mut self, why: &str) {
        for (_, open) in std::mem::take(&mut self.open) {
            self.update(open.call_id, ToolCallStatus::Error { message: why.to_owned() }, Vec::new());
        }
    }

    fn update(&self, call_id: String, status: ToolCallStatus, content: Vec<ToolContent>) {
        let details = ToolCallDetails { content, ..ToolCallDetails::default() };
        self.emit(SessionUpdate::ToolCallUpdate(ToolCallUpdate { call_id, status, late: false, details }));
    }

    fn message(&self, text: &str, id: &str, ended: bool) {
        self.emit(SessionUpdate::AgentMessage(AgentMessage {
            text: text.to_owned(),
            message_id: Some(id.to_owned()),
            ended,
            ..AgentMessage::default()
        }));
    }

    fn emit(&self, update: SessionUpdate) {
        self.host.emit(AgentEvent::Update(update));
    }
}

fn outcome(state: RunState, text: String) -> PromptOutcome {
    PromptOutcome { state, text, usage: None, cut_off: false }
}

fn fresh_id() -> String {
    Uuid::new_v4().to_string()
}
