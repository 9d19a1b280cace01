//! Converts the log of a session to model messages, so that a session can continue in another mode.

use crate::{
    agent_ids::{CLAUDE_CODE, CODEX, GENERATE},
    model::{AssistantMessage, CallRequest, Message},
    text::{cut_with_note, plain},
    update::{AgentMessage, PlanSnapshot, SessionUpdate, ToolCall, ToolCallStatus, UserMessage},
};
use serde_json::Value;
use std::collections::VecDeque;

/// Maximum length of an earlier turn's result in characters; a model can repeat the call.
pub const EARLIER_RESULT_CHARS: usize = 2_000;
/// Maximum length of the kept turns in characters; the oldest are dropped first.
const KEPT_CHARS: usize = 2_000_000;

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
    /// A turn that is not here may have read past sessions.
    history_before: bool,
    /// The mode of the next prompt, if known.
    mode: Option<String>,
    /// The provider that the next turn was routed to; `None` inside for OpenAgents itself.
    routed: Option<Option<String>>,
}

#[derive(Debug, Clone)]
struct Prompt {
    id: Option<String>,
    text: String,
    mode: Option<String>,
}

#[derive(Debug, Clone, Default)]
struct Turn {
    prompt: String,
    /// Id of the plan, if the turn is an exploration.
    plan_id: Option<String>,
    parts: Vec<Part>,
    chars: usize,
    /// The provider that answered, if that is certain.
    provider: Option<String>,
    /// Past sessions were read, or may have been.
    history: bool,
}

#[derive(Debug, Clone)]
enum Part {
    Said { id: Option<String>, text: String },
    Called { call: CallRequest, result: Option<String> },
}

const LEFT_OUT: &str = "(Answer omitted: it may quote past sessions.)";

impl Conversation {
    /// Marks the log as having updates before the first one that is added.
    pub fn starts_late(&mut self) {
        self.history_before = true;
    }

    /// Returns whether it may contain content of past sessions.
    pub fn has_history(&self) -> bool {
        self.turns.iter().any(|turn| turn.history)
    }

    /// Returns the conversation for a reader off this machine whose provider id is `own`. Omits answers based on past
    /// sessions and all answers after them, except the reader's own: another model may have repeated what was read.
    /// Prompts stay: the user wrote them.
    pub fn for_reader_elsewhere(mut self, own: &str) -> Self {
        let mut seen = self.history_before;
        for turn in &mut self.turns {
            if turn.provider.as_deref() == Some(own) {
                continue;
            }
            seen |= turn.history;
            if seen {
                turn.leave_out();
            }
        }
        self
    }

    /// Adds the next update of the log.
    pub fn push(&mut self, update: &SessionUpdate) {
        match update {
            SessionUpdate::UserMessage(UserMessage { removed: true, message_id, .. }) => {
                self.waiting.retain(|prompt| prompt.id.is_none() || prompt.id != *message_id);
            }
            SessionUpdate::UserMessage(mark) if mark.is_mark() => {
                let steered = self.waiting.iter().position(|prompt| prompt.id == mark.message_id);
                let Some(steered) = steered.and_then(|at| self.waiting.remove(at)) else { return };
                // A turn without output so far is still a waiting prompt.
                if (self.turns.is_empty() || self.over)
                    && let Some(prompt) = self.waiting.front_mut()
                {
                    prompt.text.push_str(&format!("\n\n{}", steered.text));
                } else if let Some(turn) = self.turns.back_mut() {
                    turn.prompt.push_str(&format!("\n\n{}", steered.text));
                    turn.chars += steered.text.chars().count() + 2;
                }
            }
            SessionUpdate::UserMessage(message) => {
                let text = message.text_with_images().into_owned();
                let (id, mode) = (message.message_id.clone(), self.mode.clone());
                self.waiting.push_back(Prompt { id, text, mode });
            }
            SessionUpdate::AgentMessage(message) if message.late => {}
            SessionUpdate::AgentMessage(message) => self.message(message),
            SessionUpdate::Plan(plan) => self.plan(plan),
            SessionUpdate::ToolCall(call) => self.call(call),
            SessionUpdate::ToolCallUpdate(update) => self.end_call(&update.call_id, &update.status),
            SessionUpdate::AgentThought(_) => drop(self.turn()),
            SessionUpdate::Mode(change) => self.mode = Some(change.mode_id.clone()),
            SessionUpdate::Routed(decision) => self.routed = Some(decision.target.mode()),
            // A delegate's work comes back as the result of the call.
            SessionUpdate::Title(_)
            | SessionUpdate::Approval(_)
            | SessionUpdate::Delegated(_)
            | SessionUpdate::AgentState(_)
            | SessionUpdate::AgentNote(_) => {}
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
        } else if let Some(turn) = self.turns.back_mut() {
            // The log does not record where that provider's turn ended.
            let is_other = |prompt: &Prompt| prompt.mode != turn.provider;
            if self.routed.is_some() || self.waiting.iter().any(is_other) {
                turn.provider = None;
            }
        }
        self.turns.back_mut()
    }

    fn begin(&mut self, without_prompt: &str) {
        let (prompt, mode) = match self.waiting.pop_front() {
            Some(prompt) => (prompt.text, prompt.mode),
            None => (without_prompt.trim().to_owned(), None),
        };
        let provider = self.routed.take().unwrap_or(mode);
        let chars = prompt.chars().count();
        self.turns.push_back(Turn { prompt, chars, provider, ..Turn::default() });
        self.over = false;
        let mut all: usize = self.turns.iter().map(|turn| turn.chars).sum();
        while all > KEPT_CHARS && self.turns.len() > 1 {
            let Some(oldest) = self.turns.pop_front() else { break };
            all -= oldest.chars;
            self.dropped += oldest.chars;
            self.history_before |= oldest.history;
        }
    }

    /// An exploration is its own turn. If it was requested by name, its first plan states the goals.
    fn plan(&mut self, plan: &PlanSnapshot) {
        let known = self.turns.back().and_then(|turn| turn.plan_id.as_ref());
        if known != Some(&plan.plan_id) {
            self.begin(&format!("Explore this workspace. {}", plan.goals.join("\n")));
            if let Some(turn) = self.turns.back_mut() {
                turn.plan_id = Some(plan.plan_id.clone());
                (turn.provider, turn.history) = (None, true);
            }
        }
    }

    fn message(&mut self, message: &AgentMessage) {
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
        turn.history |= message.findings.is_some() || message.summary.is_some();
        let is_final = turn.plan_id.is_some() && message.findings.is_none();
        let ends = message.ends_turn() || is_final;
        turn.chars += message.text.chars().count();
        if !message.text.is_empty() {
            turn.parts.push(Part::Said { id: message.message_id.clone(), text: message.text.clone() });
        }
        self.over |= ends;
    }

    fn call(&mut self, call: &ToolCall) {
        let is_step = call.op_hash.is_some() || call.stage.is_some();
        let Some(turn) = self.turn() else { return };
        turn.history |= is_step || reads_history(&call.name);
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
                let shown =
                    matches!(status, ToolCallStatus::Completed { output, .. } if is_from_model(output));
                turn.history |= shown;
                return;
            }
        }
    }
}

/// Returns whether a tool may read past sessions, here or through `openagents mcp`.
fn reads_history(tool: &str) -> bool {
    tool.to_ascii_lowercase().contains("session")
}

/// Returns whether a result is the report of a delegate that runs with our tools, so it may contain content of past
/// sessions.
pub fn is_from_model(result: &Value) -> bool {
    let provider = result["provider"].as_str();
    result["dispatched"] == true && provider.is_none_or(|provider| ![CODEX, CLAUDE_CODE].contains(&provider))
}

/// Returns whether a message belongs to a prompt that never started, sent between messages of another turn.
fn is_aside(message: &AgentMessage) -> bool {
    message.message_id.is_none() && !message.ends_turn() && message.text.starts_with("❌ ")
}

impl Turn {
    /// Replaces the answer with a note. Keeps `chars` unchanged: old turns are dropped by length.
    fn leave_out(&mut self) {
        self.parts = vec![Part::Said { id: None, text: LEFT_OUT.to_owned() }];
        self.history = false;
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
                        Some(Message::Assistant(reply)) if reply.calls.is_empty() => {
                            reply.calls.push(call.clone());
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
