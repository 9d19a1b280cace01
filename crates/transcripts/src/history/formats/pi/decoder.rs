//! Decodes one entry.

use super::{
    super::{
        blocks,
        calls::{self, FileTools},
    },
    discover::id_of,
};
use crate::history::{
    action::{self, Outcome},
    decoder::{Decoder, SessionFacts},
    event::{Event, EventKind, TitleRank},
    json::Node,
    log_file::{dated_origin, millis, origin},
    taken_back::Parent,
    title,
    tree::{self, Tree, TreePlace},
};
use openagents_core::text::joined;
use std::path::PathBuf;

const TOOLS: FileTools = FileTools { reads: &["read"], edits: &["write", "edit"] };

/// The provider of lines that OpenClaw itself adds as answers.
const GATEWAY: &str = "openclaw";

/// Ends the output of a failed command.
const EXITED: &str = "Command exited with code ";

/// The tree of pi's log.
pub(super) const TREE: Tree = Tree { id: "\"id\"", parent: "\"parentId\"", place, is_prompt };

/// The tree of OpenClaw's log, which may start again several times without a rewind.
pub(super) const TREE_OF_OPENCLAW: Tree = Tree { place: place_after_previous, ..TREE };

fn place(entry: &Node<'_>) -> Option<TreePlace> {
    let parent = match tree::parent(entry, "parentId") {
        Parent::None if !is_prompt(entry) => Parent::Previous,
        parent => parent,
    };
    Some(TreePlace { id: origin(entry.text("id")?), parent })
}

fn place_after_previous(entry: &Node<'_>) -> Option<TreePlace> {
    let place = place(entry)?;
    Some(TreePlace {
        parent: if place.parent == Parent::None { Parent::Previous } else { place.parent },
        ..place
    })
}

fn is_prompt(entry: &Node<'_>) -> bool {
    entry.get("message").is_some_and(|message| message.text("role") == Some("user"))
}

pub(super) struct PiDecoder {
    facts: SessionFacts,
    /// Returns the typed part of a user's text.
    typed: fn(&str) -> &str,
}

impl PiDecoder {
    pub(super) fn new(typed: fn(&str) -> &str) -> Self {
        Self { facts: SessionFacts::default(), typed }
    }

    /// Reads a header. There may be several, and later entries may be older.
    fn header(&mut self, node: &Node<'_>) {
        let cwd = node.text("cwd").filter(|cwd| !cwd.is_empty());
        self.facts.cwd = self.facts.cwd.take().or_else(|| cwd.map(PathBuf::from));
        self.model(node.text("provider"), node.text("modelId"));
        // A fork names the file of its parent.
        let parent = node.text("parentSession").and_then(|path| path.rsplit(['/', '\\']).next());
        let parent = parent.map(|name| id_of(name.strip_suffix(".jsonl").unwrap_or(name)).to_owned());
        self.facts.continues = self.facts.continues.take().or(parent);
    }

    fn model(&mut self, provider: Option<&str>, model: Option<&str>) {
        if let Some(model) = model.filter(|_| provider != Some(GATEWAY)) {
            self.facts.model = Some(model.to_owned());
        }
    }

    fn message(&mut self, entry: &Node<'_>, message: &Node<'_>, line: u64, at: Option<i64>) -> Vec<Event> {
        let content = message.get("content");
        match message.text("role").unwrap_or_default() {
            "user" => {
                self.facts.updated_at = self.facts.updated_at.max(at);
                let texts = blocks::texts(content).into_iter().map(self.typed);
                let prompt = blocks::prompt(texts, content);
                prompt.into_iter().map(|text| Event::new(line, at, EventKind::Prompt, text)).collect()
            }
            "assistant" => {
                self.facts.updated_at = self.facts.updated_at.max(at);
                self.model(message.text("provider"), message.text("model"));
                if let Some(tokens) = message.get("usage").and_then(|usage| usage.count("totalTokens")) {
                    *self.facts.tokens.get_or_insert(0) += tokens;
                }
                let mut events = blocks::answer(&TOOLS, line, at, content);
                let error = message.text("errorMessage").filter(|error| !error.trim().is_empty());
                events.extend(error.map(|error| Event::new(line, at, EventKind::Assistant, error)));
                events
            }
            "toolResult" => {
                let text = joined(blocks::texts(content));
                let outcome = outcome(message, &text);
                vec![calls::ended(line, at, message.text("toolCallId"), text, outcome)]
            }
            // A command that the user ran.
            "bashExecution" => {
                let id = Some(entry.text("id").unwrap_or("bash"));
                let output = message.text("output").unwrap_or_default().to_owned();
                let outcome = action::code(message, "exitCode").map(Outcome::Exit);
                vec![
                    TOOLS.call(line, at, id, "bash", message.get("command")),
                    calls::ended(line, at, id, output, outcome),
                ]
            }
            // Written by versions before the entry `compaction`.
            "compactionSummary" => summary(message, line, at).into_iter().collect(),
            _ => vec![],
        }
    }
}

/// Returns the summary that a compaction kept of the conversation before it.
fn summary(node: &Node<'_>, line: u64, at: Option<i64>) -> Option<Event> {
    Some(Event::new(line, at, EventKind::Compaction, node.text("summary")?))
}

impl Decoder for PiDecoder {
    fn record(&mut self, node: &Node<'_>, number: u64) -> Option<Vec<Event>> {
        let kind = node.text("type")?;
        let at = millis(node.get("timestamp"));
        self.facts.created_at = [self.facts.created_at, at].into_iter().flatten().min();
        let mut events = match (kind, node.get("message")) {
            ("session", _) => {
                self.header(node);
                vec![]
            }
            ("model_change", _) => {
                self.model(node.text("provider"), node.text("modelId"));
                vec![]
            }
            ("session_info", _) => title::given(node.text("name"))
                .map(|name| Event::new(number, at, EventKind::Title(TitleRank::Person), name))
                .into_iter()
                .collect(),
            ("compaction", _) => summary(node, number, at).into_iter().collect(),
            ("message", Some(message)) => {
                let at = at.or_else(|| millis(message.get("timestamp")));
                self.message(node, message, number, at)
            }
            _ => vec![],
        };
        // A fork begins with the lines of its parent. Ids are short, and unique only together with the time.
        let origin = dated_origin(node.text("id"), at);
        events.iter_mut().for_each(|event| event.origin = origin);
        Some(events)
    }

    fn facts(&self) -> SessionFacts {
        self.facts.clone()
    }
}

/// Returns the outcome of a call. OpenClaw reports it in the details even if nothing is marked as an error.
fn outcome(message: &Node<'_>, text: &str) -> Option<Outcome> {
    let details = message.get("details");
    let status = details.and_then(|details| details.text("status")).unwrap_or_default();
    let last = || text.lines().next_back()?.strip_prefix(EXITED)?.trim().parse().ok();
    let failed = message.flag("isError") || matches!(status, "error" | "failed");
    match details.and_then(|details| action::code(details, "exitCode")).or_else(last) {
        Some(code) => Some(Outcome::Exit(code)),
        None if failed => Some(Outcome::NotRun),
        None if status == "running" => None,
        None => Some(Outcome::Exit(0)),
    }
}
