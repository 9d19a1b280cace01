//! The log of a session as the messages that a model reads, so that a session can change its mode and go on.

use super::{CUT_OFF, GENERATE, tools};
use crate::{
    model::{AssistantMessage, CallRequest, Message},
    update::{AgentMessage, SessionUpdate, ToolCall, ToolCallStatus},
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
    waiting: VecDeque<String>,
    /// The last turn is over.
    over: bool,
}

#[derive(Debug, Clone, Default)]
struct Turn {
    prompt: String,
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
            SessionUpdate::UserMessage(message) => self.waiting.push_back(message.text.clone()),
            SessionUpdate::AgentMessage(message) => self.say(message),
            // Of an exploration that was asked for by name, the plan is the first that says what for.
            SessionUpdate::Plan(plan) => {
                if self.over || self.turns.is_empty() {
                    let goals = plan.goals.join("\n");
                    self.begin(&format!("Explore this workspace. {goals}"));
                }
            }
            SessionUpdate::ToolCall(call) => self.call(call),
            SessionUpdate::ToolCallUpdate(update) => self.end_call(&update.call_id, &update.status),
            SessionUpdate::AgentThought(_) => drop(self.turn()),
            SessionUpdate::Mode(_) | SessionUpdate::Title(_) => {}
        }
    }

    /// Returns the messages of the newest turns that fit into `room` characters, oldest first. Prompts without an
    /// answer are not among them.
    pub fn messages(&self, room: usize) -> Vec<Message> {
        let mut left = room;
        let fits = |turn: &&Turn| {
            let fits = turn.chars <= left;
            left = left.saturating_sub(turn.chars);
            fits
        };
        let kept: Vec<&Turn> = self.turns.iter().rev().take_while(fits).collect();
        kept.into_iter().rev().flat_map(Turn::messages).collect()
    }

    /// Returns the turn that an update belongs to: the next prompt's, when the last one is over.
    fn turn(&mut self) -> Option<&mut Turn> {
        if self.turns.is_empty() || self.over && !self.waiting.is_empty() {
            self.begin("Go on.");
        }
        self.turns.back_mut()
    }

    fn begin(&mut self, without_prompt: &str) {
        let prompt = self.waiting.pop_front().unwrap_or_else(|| without_prompt.trim().to_owned());
        let chars = prompt.chars().count();
        self.turns.push_back(Turn { prompt, parts: Vec::new(), chars });
        self.over = false;
        let mut all: usize = self.turns.iter().map(|turn| turn.chars).sum();
        while all > KEPT && self.turns.len() > 1 {
            all -= self.turns.pop_front().map_or(0, |turn| turn.chars);
        }
    }

    fn say(&mut self, message: &AgentMessage) {
        let ends = ends_a_turn(message);
        // The app's own postscript to an answer.
        let is_postscript = message.text.starts_with(CUT_OFF);
        let turn = if is_postscript { self.turns.back_mut() } else { self.turn() };
        let Some(turn) = turn else { return };
        turn.chars += message.text.chars().count();
        match turn.parts.last_mut() {
            Some(Part::Said { id, text }) if *id == message.message_id => text.push_str(&message.text),
            _ if message.text.is_empty() => {}
            _ => turn.parts.push(Part::Said { id: message.message_id.clone(), text: message.text.clone() }),
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
            ToolCallStatus::Started { .. } => return,
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

/// Figures, a summary or a word of the app stand at the end of a turn. Where a model goes on after them, its words count
/// to the same turn as long as no prompt waits.
fn ends_a_turn(message: &AgentMessage) -> bool {
    let word = message.text.starts_with('❌') || message.text.contains("ancelled");
    message.usage.is_some() || message.summary.is_some() || word
}

impl Turn {
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
                    let calls = vec![call.clone()];
                    messages
                        .push(Message::Assistant(AssistantMessage { calls, ..AssistantMessage::default() }));
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
