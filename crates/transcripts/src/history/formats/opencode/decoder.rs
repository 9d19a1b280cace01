//! Decodes one record.

use crate::history::{
    formats::calls::{self, FileTools},
    log::{
        action::{self, Outcome},
        decoder::{Decoder, SessionFacts},
        event::{Event, EventKind, TitleRank},
        json::Node,
        log_file::millis,
        title,
    },
};
use openagents_core::text::joined;
use std::path::PathBuf;

#[derive(Default)]
pub(crate) struct OpencodeDecoder {
    facts: SessionFacts,
}

impl OpencodeDecoder {
    /// Reads the record about the session itself.
    fn about(&mut self, about: &Node<'_>, number: u64) -> Vec<Event> {
        let facts = &mut self.facts;
        facts.updated_at = facts.updated_at.max(millis(about.get("updated")));
        facts.created_at = millis(about.get("created")).or(facts.created_at);
        facts.subagent |= about.text("parent").is_some();
        facts.archived |= about.flag("archived");
        facts.continues = about.text("fork_of").map(str::to_owned).or(facts.continues.take());
        // Outside repositories, the project's folder is `/`.
        if let Some(directory) = about.text("directory").filter(|directory| !directory.is_empty()) {
            facts.cwd = Some(PathBuf::from(directory));
        }
        let model = about.text("model").and_then(Node::parse).and_then(|model| named(&model));
        facts.model = model.or(facts.model.take());
        let title = title::given(about.text("title").filter(|title| !is_default(title)));
        title
            .into_iter()
            .map(|title| Event::new(number, None, EventKind::Title(TitleRank::Model), title))
            .collect()
    }

    /// Reads the facts in an agent's message, apart from its parts.
    fn answer(&mut self, message: &Node<'_>) {
        if let Some(model) = message.get("model").and_then(named) {
            self.facts.model = Some(model);
        }
        if let Some(tokens) = message.get("tokens") {
            let cache = tokens.get("cache");
            let counts = ["input", "output", "reasoning"].map(|kind| tokens.count(kind));
            let cached = ["read", "write"].map(|kind| cache.and_then(|cache| cache.count(kind)));
            let sum: u64 = counts.into_iter().chain(cached).flatten().sum();
            *self.facts.tokens.get_or_insert(0) += sum;
        }
    }

    fn entry(&mut self, kind: &str, data: &Node<'_>, number: u64, at: Option<i64>) -> Vec<Event> {
        let at = data.get("time").and_then(|time| millis(time.get("created"))).or(at);
        match kind {
            "user" => prompt(data.text("text").into_iter(), number, at),
            "assistant" => {
                self.answer(data);
                let content = data.get("content").map_or(&[][..], Node::items);
                content.iter().flat_map(|part| events(part, number, at)).collect()
            }
            "shell" => typed_command(data, number, at),
            _ => vec![],
        }
    }
}

impl Decoder for OpencodeDecoder {
    fn record(&mut self, node: &Node<'_>, number: u64) -> Option<Vec<Event>> {
        if let Some(about) = node.get("about") {
            return Some(self.about(about, number));
        }
        let at = millis(node.get("at"));
        if let Some(summary) = node.text("summary") {
            return Some(vec![Event::new(number, at, EventKind::Compaction, summary)]);
        }
        if let Some(part) = node.get("part") {
            return Some(events(part, number, at));
        }
        if let Some(kind) = node.text("entry") {
            return Some(self.entry(kind, node.get("data")?, number, at));
        }
        if node.text("role") == Some("user") {
            let texts = node.get("texts").map_or(&[][..], Node::items).iter();
            return Some(prompt(texts.filter_map(Node::as_str), number, at));
        }
        self.answer(node);
        Some(vec![])
    }

    fn facts(&self) -> SessionFacts {
        self.facts.clone()
    }
}

fn prompt<'a>(texts: impl Iterator<Item = &'a str>, number: u64, at: Option<i64>) -> Vec<Event> {
    let prompt = title::prompt(texts);
    prompt.into_iter().map(|text| Event::new(number, at, EventKind::Prompt, text)).collect()
}

/// Returns the name of a model: a text, or an object with an id.
fn named(model: &Node<'_>) -> Option<String> {
    let name = model.as_str().or_else(|| model.text("id")).or_else(|| model.text("modelID"));
    name.filter(|name| !name.is_empty()).map(str::to_owned)
}

/// Returns whether a title only says when the session, or the one that it was forked from, began.
fn is_default(title: &str) -> bool {
    let title = title.split(" (fork #").next().unwrap_or(title);
    let time = title.strip_prefix("New session - ").or_else(|| title.strip_prefix("Child session - "));
    time.is_some_and(|time| time.parse::<jiff::Timestamp>().is_ok())
}

const TOOLS: FileTools = FileTools { reads: &["read"], edits: &["write", "edit", "apply_patch"] };

/// Decodes a part of an agent's message. In 2.x, a few fields have other names.
pub(super) fn events(part: &Node<'_>, number: u64, at: Option<i64>) -> Vec<Event> {
    let time = |node: &Node<'_>| millis(node.get("time")?.get("start"));
    match part.text("type") {
        Some("text") if !part.flag("ignored") => {
            said_parts(part, number, time(part).or(at), EventKind::Assistant)
        }
        Some("reasoning") => said_parts(part, number, time(part).or(at), EventKind::Thinking),
        Some("tool") => part.get("state").map_or_else(Vec::new, |state| {
            let name = part.text("tool").or(part.text("name")).unwrap_or("tool");
            let id = part.text("callID").or(part.text("id"));
            tool(name, id, state, number, time(state).or(at))
        }),
        _ => vec![],
    }
}

/// Decodes a command that the user ran, as 2.x stores it.
pub(super) fn typed_command(data: &Node<'_>, number: u64, at: Option<i64>) -> Vec<Event> {
    let id = data.text("callID");
    let outcome = action::code(data, "exit").map(Outcome::Exit);
    let output = data.text("output").unwrap_or_default().to_owned();
    let call = TOOLS.call(number, at, id, "shell", data.get("command"));
    vec![call, calls::ended(number, at, id, output, outcome)]
}

fn said_parts(part: &Node<'_>, number: u64, at: Option<i64>, kind: EventKind) -> Vec<Event> {
    let text = part.text("text").filter(|text| !text.trim().is_empty());
    text.into_iter().map(|text| Event::new(number, at, kind.clone(), text)).collect()
}

fn tool(name: &str, id: Option<&str>, state: &Node<'_>, number: u64, at: Option<i64>) -> Vec<Event> {
    let mut call = TOOLS.call(number, at, id, name, state.get("input"));
    let end = state.get("time").and_then(|time| millis(time.get("end"))).or(at);
    let result = match state.text("status") {
        Some("completed") => {
            let exit = state.get("metadata").and_then(|metadata| action::code(metadata, "exit"));
            let outcome = match name {
                // A malformed call.
                "invalid" => Some(Outcome::NotRun),
                "bash" | "shell" => exit.map(Outcome::Exit),
                _ => Some(Outcome::Exit(0)),
            };
            calls::ended(number, end, id, output(state), outcome)
        }
        Some("error") => {
            let error = state
                .get("error")
                .map(|error| error.text("message").map_or_else(|| error.flattened(), str::to_owned));
            calls::result(number, end, id, error.unwrap_or_default(), Some(false))
        }
        // `running` may stay forever.
        _ => {
            call.files.clear();
            return vec![call];
        }
    };
    vec![call, result]
}

fn output(state: &Node<'_>) -> String {
    let content = state.get("content").map_or(&[][..], Node::items).iter();
    joined(state.text("output").into_iter().chain(content.filter_map(|item| item.text("text"))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_titles_are_recognised() {
        let rows = [
            ("New session - 2026-01-02T03:04:05.678Z", true),
            ("Child session - 2026-01-02T03:04:05Z", true),
            ("New session - tomorrow", false),
            ("My New session - 2026-01-02T03:04:05.678Z", false),
            ("New session - 2026-01-02T03:04:05.678Z (fork #1)", true),
        ];
        for (title, expected) in rows {
            assert_eq!(is_default(title), expected, "{title}");
        }
    }
}
