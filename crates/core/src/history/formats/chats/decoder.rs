//! Decodes one message.

use super::{
    super::calls,
    parts::{self, TOOLS},
};
use crate::{
    history::{
        decoder::{Decoder, SessionFacts},
        event::{Event, EventKind, TitleRank},
        json::Node,
        log_file::millis,
        title,
    },
    text::joined,
};
use std::path::PathBuf;

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
        facts.created_at = millis(node.get("startTime")).or(facts.created_at);
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
    fn line(&mut self, line: &str, number: u64) -> Option<Vec<Event>> {
        let node = Node::parse_object(line)?;
        if let Some(change) = node.get("$set") {
            return Some(self.session(change, number));
        }
        let Some(kind) = node.text("type") else { return Some(self.session(&node, number)) };
        let at = millis(node.get("timestamp"));
        self.facts.updated_at = self.facts.updated_at.max(at);
        Some(match kind {
            "user" => prompt(&node)
                .map(|text| Event::new(number, at, EventKind::Prompt, text))
                .into_iter()
                .collect(),
            "gemini" | "qwen" => self.answer(&node, number, at),
            _ => vec![],
        })
    }

    fn facts(&self) -> SessionFacts {
        self.facts.clone()
    }
}

/// Returns the texts of a message.
fn content<'a>(node: &'a Node<'a>) -> Vec<&'a str> {
    let Some(content) = node.get("content") else { return vec![] };
    let parts = content.items().iter().filter_map(|part| part.text("text").or(part.as_str()));
    content.as_str().into_iter().chain(parts).collect()
}

fn prompt(node: &Node<'_>) -> Option<String> {
    // What was typed, if a command expanded it.
    let typed = node.get("displayContent").filter(|shown| !matches!(shown, Node::Null));
    let texts = match typed.and_then(Node::as_str) {
        Some(typed) => vec![typed],
        None => content(node),
    };
    parts::prompt(texts)
}

fn output(call: &Node<'_>) -> String {
    joined(call.get("result").map_or(&[][..], Node::items).iter().filter_map(parts::response))
}
