//! Converts the log of a session to model messages, so that a session can continue in another mode.

use super::{
    generate::GENERATE,
    limits::{EARLIER_RESULT_CHARS, KEPT_CHARS},
};
use crate::{
    model::{AssistantMessage, CallRequest, Message},
    text::{cut_with_note, plain},
    update::{AgentMessage, PlanSnapshot, SessionUpdate, ToolCall, ToolCallStatus, UserMessage},
};
use serde_json::Value;
use std::collections::VecDeque;

/// The history of a session. Reads the log in order; an incomplete log is fine.
///
/// Thoughts, titles, modes and exploration steps are left out; an exploration is represented by its last message.
#[derive(Debug, Clone, Default)]
pub struct Conversation {
    turns: VecDeque<Turn>,
    /// Prompts without an answer, in order.
    waiting: VecDeque<Prompt>,
    /// The last turn has ended.
    over: bool,
    /// Characters of the dropped turns.
    dropped: usize,
}

#[derive(Debug, Clone)]
struct Prompt {
    id: Option<String>,
    text: String,
}

#[derive(Debug, Clone, Default)]
struct Turn {
    prompt: String,
    /// Id of the plan, if the turn is an exploration.
    plan_id: Option<String>,
    parts: Vec<Part>,
    chars: usize,
}

#[derive(Debug, Clone)]
enum Part {
    Said { id: Option<String>, text: String },
    Called { call: CallRequest, result: Option<String> },
}

impl Conversation {
    /// Adds the next update of the log.
    pub fn push(&mut self, update: &SessionUpdate) {
        match update {
            SessionUpdate::UserMessage(UserMessage { removed: true, message_id, .. }) => {
                self.waiting.retain(|prompt| prompt.id.is_none() || prompt.id != *message_id);
            }
            SessionUpdate::UserMessage(UserMessage { text, message_id, .. }) => {
                self.waiting.push_back(Prompt { id: message_id.clone(), text: text.clone() });
            }
            SessionUpdate::AgentMessage(message) if message.late => {}
            SessionUpdate::AgentMessage(message) => self.say(message),
            SessionUpdate::Plan(plan) => self.plan(plan),
            SessionUpdate::ToolCall(call) => self.call(call),
            SessionUpdate::ToolCallUpdate(update) => self.end_call(&update.call_id, &update.status),
            SessionUpdate::AgentThought(_) => drop(self.turn()),
            // A delegate's work comes back as the result of the call.
            SessionUpdate::Mode(_)
            | SessionUpdate::Title(_)
            | SessionUpdate::Routed(_)
            | SessionUpdate::Approval(_)
            | SessionUpdate::Delegated(_) => {}
        }
    }

    /// Returns the messages of the newest turns that fit into `room` characters, oldest first. Prompts without an
    /// answer are left out.
    ///
    /// Old turns are dropped in steps of a quarter of the room, so that the beginning stays stable between steps and a
    /// model can reuse its cache.
    pub fn messages(&self, room: usize) -> Vec<Message> {
        let all = self.dropped + self.turns.iter().map(|turn| turn.chars).sum::<usize>();
        let from = all.saturating_sub(room).next_multiple_of((room / 4).max(1));
        let mut at = self.dropped;
        let is_kept = |turn: &&Turn| {
            let begins = at;
            at += turn.chars;
            begins >= from
        };
        self.turns.iter().filter(is_kept).flat_map(Turn::messages).collect()
    }

    /// Returns the turn of an update: a new one for the next prompt if the last turn has ended.
    fn turn(&mut self) -> Option<&mut Turn> {
        if self.turns.is_empty() || self.over && !self.waiting.is_empty() {
            self.begin("Go on.");
        }
        self.turns.back_mut()
    }

    fn begin(&mut self, without_prompt: &str) {
        let prompt = self.waiting.pop_front();
        let prompt = prompt.map_or_else(|| without_prompt.trim().to_owned(), |prompt| prompt.text);
        let chars = prompt.chars().count();
        self.turns.push_back(Turn { prompt, chars, ..Turn::default() });
        self.over = false;
        let mut all: usize = self.turns.iter().map(|turn| turn.chars).sum();
        while all > KEPT_CHARS && self.turns.len() > 1 {
            let oldest = self.turns.pop_front().map_or(0, |turn| turn.chars);
            all -= oldest;
            self.dropped += oldest;
        }
    }

    /// An exploration is its own turn. If it was requested by name, its first plan states the goals.
    fn plan(&mut self, plan: &PlanSnapshot) {
        let known = self.turns.back().and_then(|turn| turn.plan_id.as_ref());
        if known != Some(&plan.plan_id) {
            self.begin(&format!("Explore this workspace. {}", plan.goals.join("\n")));
            if let Some(turn) = self.turns.back_mut() {
                turn.plan_id = Some(plan.plan_id.clone());
            }
        }
    }

    fn say(&mut self, message: &AgentMessage) {
        // A continuation of the last message: an early chunk may look like an ending.
        if let Some(turn) = self.turns.back_mut()
            && let Some(Part::Said { id: Some(id), text }) = turn.parts.last_mut()
            && message.message_id.as_ref() == Some(id)
        {
            text.push_str(&message.text);
            turn.chars += message.text.chars().count();
            self.over = message.ends_turn();
            return;
        }
        if is_aside(message) {
            return;
        }
        let Some(turn) = self.turn() else { return };
        let is_final = turn.plan_id.is_some() && message.findings.is_none();
        let ends = message.ends_turn() || is_final || turn.is_refused(message);
        turn.chars += message.text.chars().count();
        if !message.text.is_empty() {
            turn.parts.push(Part::Said { id: message.message_id.clone(), text: message.text.clone() });
        }
        self.over |= ends;
    }

    fn call(&mut self, call: &ToolCall) {
        let is_step = call.op_hash.is_some() || call.stage.is_some();
        let Some(turn) = self.turn() else { return };
        // The log already holds the output of `gptoss.generate` as an answer.
        if is_step || call.name == GENERATE {
            return;
        }
        let arguments = Value::Object(call.arguments.clone());
        turn.chars += arguments.to_string().chars().count();
        let call = CallRequest { id: call.call_id.clone(), name: call.name.clone(), arguments };
        turn.parts.push(Part::Called { call, result: None });
    }

    fn end_call(&mut self, id: &str, status: &ToolCallStatus) {
        let text = match status {
            ToolCallStatus::Started { .. } | ToolCallStatus::Unchanged => return,
            ToolCallStatus::Completed { output, .. } => cut_with_note(&plain(output), EARLIER_RESULT_CHARS),
            ToolCallStatus::Error { message } => cut_with_note(message, EARLIER_RESULT_CHARS),
        };
        for turn in self.turns.iter_mut().rev() {
            let open = turn.parts.iter_mut().find_map(|part| match part {
                Part::Called { call, result } if call.id == id => Some(result),
                _ => None,
            });
            if let Some(result) = open {
                turn.chars += text.chars().count();
                *result = Some(text);
                return;
            }
        }
    }
}

/// Returns whether a message belongs to a prompt that never started, sent between messages of another turn.
fn is_aside(message: &AgentMessage) -> bool {
    message.message_id.is_none() && !message.ends_turn() && message.text.starts_with("❌ ")
}

impl Turn {
    /// A turn that is only a refusal, in logs older than [`AgentMessage::ended`].
    fn is_refused(&self, message: &AgentMessage) -> bool {
        self.parts.is_empty() && message.text.starts_with("❌ ")
    }

    fn messages(&self) -> Vec<Message> {
        let mut messages = vec![Message::User { text: self.prompt.clone() }];
        for part in &self.parts {
            match part {
                Part::Said { text, .. } => {
                    messages.push(Message::Assistant(AssistantMessage {
                        text: text.clone(),
                        ..AssistantMessage::default()
                    }));
                }
                // A call without an end gets a placeholder result: templates require a result for every call.
                Part::Called { call, result } => {
                    // Text right before a call belongs to the same answer. Models call one tool at a time.
                    match messages.last_mut() {
                        Some(Message::Assistant(said)) if said.calls.is_empty() => {
                            said.calls.push(call.clone());
                        }
                        _ => {
                            let calls = vec![call.clone()];
                            let asked = AssistantMessage { calls, ..AssistantMessage::default() };
                            messages.push(Message::Assistant(asked));
                        }
                    }
                    messages.push(Message::Tool {
                        call_id: call.id.clone(),
                        name: call.name.clone(),
                        text: result.clone().unwrap_or_else(|| "(no result)".to_owned()),
                    });
                }
            }
        }
        messages
    }
}

#[cfg(test)]
#[path = "conversation_tests.rs"]
mod tests;
