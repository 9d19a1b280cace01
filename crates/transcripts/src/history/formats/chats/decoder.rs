//! Decodes one message.

use super::{
    super::calls,
    parts::{self, TOOLS},
};
use crate::history::{
    decoder::{Decoder, SessionFacts},
    event::{Event, EventKind, TitleRank},
    json::Node,
    log_file::millis,
    title,
};
use openagents_core::text::joined;
use std::path::PathBuf;

/// Start of the summary of a compressed conversation, sent in the user's name (0.61).
const SNAPSHOT: &str = "<state_snapshot>";

/// The answer that follows such a summary.
const ACKNOWLEDGED: &str = "Got it. Thanks for the additional context!";

/// Start of the message about a command that the user ran with `!`.
const COMMAND: &str = "I ran the following shell command:";

pub(crate) struct ChatDecoder {
    facts: SessionFacts,
}

impl ChatDecoder {
    pub(crate) fn new(cwd: Option<PathBuf>) -> Self {
        Self { facts: SessionFacts { cwd, ..SessionFacts::default() } }
    }

    /// Reads a line about the whole session, or a change of it.
    fn session(&mut self, node: &Node<'_>, number: u64) -> Vec<Event> {
        let facts = &mut self.facts;
        facts.subagent |= node.text("kind") == Some("subagent");
        if let Some(id) = node.text("sessionId") {
            facts.id = Some(id.to_owned());
        }
        // Each resume writes another header.
        facts.created_at = [millis(node.get("startTime")), facts.created_at].into_iter().flatten().min();
        facts.updated_at = facts.updated_at.max(millis(node.get("lastUpdated")));
        if facts.cwd.is_none() {
            facts.cwd =
                node.get("directories").and_then(|all| all.items().first()?.as_str()).map(PathBuf::from);
        }
        // The summary of a sub-agent is its answer.
        let summary = title::given(node.text("summary")).filter(|_| !facts.subagent);
        summary
            .into_iter()
            .map(|text| Event::new(number, None, EventKind::Title(TitleRank::Summary), text))
            .collect()
    }

    fn answer(&mut self, node: &Node<'_>, number: u64, at: Option<i64>) -> Vec<Event> {
        if let Some(model) = node.text("model") {
            self.facts.model = Some(model.to_owned());
        }
        if let Some(tokens) = node.get("tokens").and_then(|tokens| tokens.count("total")) {
            self.facts.tokens = Some(self.facts.tokens.unwrap_or(0) + tokens);
        }
        let mut events = Vec::new();
        for thought in node.get("thoughts").map_or(&[][..], Node::items) {
            let text = joined([thought.text("subject"), thought.text("description")].into_iter().flatten());
            events.push(Event::new(number, at, EventKind::Thinking, text));
        }
        events.push(Event::new(number, at, EventKind::Assistant, joined(content(node))));
        for call in node.get("toolCalls").map_or(&[][..], Node::items) {
            let at = millis(call.get("timestamp")).or(at);
            self.facts.updated_at = self.facts.updated_at.max(at);
            let id = call.text("id");
            events.push(TOOLS.call(number, at, id, call.text("name").unwrap_or("tool"), call.get("args")));
            let succeeded = match call.text("status") {
                Some("success") => true,
                Some("error" | "cancelled") => false,
                _ => continue,
            };
            events.push(calls::result(number, at, id, output(call), Some(succeeded)));
        }
        events.retain(|event| {
            !event.text.trim().is_empty() || matches!(event.kind, EventKind::ToolCall { .. })
        });
        events
    }
}

impl Decoder for ChatDecoder {
    fn record(&mut self, node: &Node<'_>, number: u64) -> Option<Vec<Event>> {
        if let Some(change) = node.get("$set") {
            return Some(self.session(change, number));
        }
        let Some(kind) = node.text("type") else { return Some(self.session(node, number)) };
        let at = millis(node.get("timestamp"));
        self.facts.updated_at = self.facts.updated_at.max(at);
        Some(match kind {
            "user" => user(node, number, at).into_iter().collect(),
            // Follows a compressed conversation.
            "gemini" if content(node) == [ACKNOWLEDGED] => vec![],
            "gemini" | "qwen" => self.answer(node, number, at),
            _ => vec![],
        })
    }

    fn facts(&self) -> SessionFacts {
        self.facts.clone()
    }
}

fn content<'a>(node: &'a Node<'a>) -> Vec<&'a str> {
    node.get("content").map(texts).unwrap_or_default()
}

fn texts<'a>(content: &'a Node<'a>) -> Vec<&'a str> {
    let parts = content.items().iter().filter_map(|part| part.text("text").or(part.as_str()));
    content.as_str().into_iter().chain(parts).collect()
}

/// Returns the event of a message in the user's name: a prompt, or the summary that replaces the conversation so far.
fn user(node: &Node<'_>, number: u64, at: Option<i64>) -> Option<Event> {
    let sent = content(node);
    if let Some(summary) = sent.first().filter(|text| text.trim_start().starts_with(SNAPSHOT)) {
        return Some(Event::new(number, at, EventKind::Compaction, *summary));
    }
    // The text as it was typed, if a command or a warning replaced it.
    let typed = node.get("displayContent").map(texts).filter(|typed| !typed.is_empty());
    let is_command = |text: &&str| text.starts_with(COMMAND);
    let text = parts::prompt(typed.unwrap_or(sent).into_iter().filter(|text| !is_command(text)))?;
    Some(Event::new(number, at, EventKind::Prompt, text))
}

fn output(call: &Node<'_>) -> String {
    joined(call.get("result").map_or(&[][..], Node::items).iter().filter_map(parts::response))
}
