//! The log of a session as the messages that a model reads, so that a session can change its mode and go on.

use super::{GENERATE, tools};
use crate::{
    model::{AssistantMessage, CallRequest, Message},
    update::{AgentMessage, PlanSnapshot, SessionUpdate, ToolCall, ToolCallStatus, UserMessage},
};
use serde_json::Value;
use std::collections::VecDeque;

/// Characters of one result of an earlier turn; a model that needs more can ask again.
const RESULT: usize = 2_000;

/// Characters of the turns that are kept while a log is read; the oldest go first.
const KEPT: usize = 2_000_000;

/// What was said in a session so far. Takes the log in its order; what is left open in it is no error.
///
/// Thoughts, titles, modes and the steps of explorations are left out: of an exploration its last message counts.
#[derive(Debug, Clone, Default)]
pub struct Transcript {
    turns: VecDeque<Turn>,
    /// Prompts that have no answer yet: the one whose turn comes next, and those behind it.
    waiting: VecDeque<Prompt>,
    /// The last turn is over.
    over: bool,
    /// Characters of the turns that were dropped.
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
    /// The exploration that this is, if it is one.
    plan_id: Option<String>,
    parts: Vec<Part>,
    chars: usize,
}

#[derive(Debug, Clone)]
enum Part {
    Said { id: Option<String>, text: String },
    Called { call: CallRequest, result: Option<String> },
}

impl Transcript {
    /// Takes the next update of the log.
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
            // What a delegate did comes back as the result of the call.
            SessionUpdate::Mode(_)
            | SessionUpdate::Title(_)
            | SessionUpdate::Routed(_)
            | SessionUpdate::Approval(_)
            | SessionUpdate::Delegated(_) => {}
        }
    }

    /// Returns the messages of the newest turns that fit into `room` characters, oldest first. Prompts without an
    /// answer are not among them.
    ///
    /// Old turns go in steps of a quarter of the room: between two steps the beginning stays what it was, and a model
    /// that remembers it need not read it again.
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

    /// Returns the turn that an update belongs to: the next prompt's, when the last one is over.
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
        while all > KEPT && self.turns.len() > 1 {
            let oldest = self.turns.pop_front().map_or(0, |turn| turn.chars);
            all -= oldest;
            self.dropped += oldest;
        }
    }

    /// An exploration is a turn of its own. Of one that was asked for by name, the plan is the first that says what for.
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
        // More of what was said last, whoever else waits by now: its beginning was not the end, even if it sounded so.
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
        // What `gptoss.generate` said stands in the log as the answer that it is.
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
            ToolCallStatus::Completed { output, .. } => tools::shorten(&tools::as_text(output), RESULT),
            ToolCallStatus::Error { message } => tools::shorten(message, RESULT),
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

/// A prompt that was never taken on got a word of its own, between those of others.
fn is_aside(message: &AgentMessage) -> bool {
    message.message_id.is_none() && !message.ends_turn() && message.text.starts_with("❌ ")
}

impl Turn {
    /// A turn that consists of a refusal, in logs that are older than [`AgentMessage::ended`].
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
                // A call without an end has one that says so: a template wants every call answered.
                Part::Called { call, result } => {
                    // What was said right before it belongs to the same answer. Of several calls each is an answer of
                    // its own, as the models ask that are known today: one at a time.
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
#[path = "transcript_tests.rs"]
mod tests;
