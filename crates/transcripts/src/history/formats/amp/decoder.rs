//! Decodes one message.

use super::super::{
    blocks,
    calls::{self, FileTools},
};
use crate::history::{
    action::{self, Outcome},
    decoder::{Decoder, SessionFacts},
    event::{Event, EventKind, TitleRank},
    json::Node,
    log_file::millis,
    title,
};
use percent_encoding::percent_decode_str;
use std::path::PathBuf;

const TOOLS: FileTools = FileTools {
    reads: &["Read", "read_file"],
    edits: &["edit_file", "create_file", "undo_edit", "apply_patch"],
};

#[derive(Default)]
pub(super) struct AmpDecoder {
    facts: SessionFacts,
}

impl AmpDecoder {
    /// Reads the record about the thread as a whole.
    fn thread(&mut self, node: &Node<'_>, number: u64) -> Vec<Event> {
        let facts = &mut self.facts;
        facts.created_at = millis(node.get("created"));
        facts.updated_at = facts.updated_at.max(millis(node.get("lastUsed"))).max(facts.created_at);
        let trees = node.get("env").and_then(|env| env.get("initial")?.get("trees"));
        if let Some(tree) = trees.and_then(|trees| trees.items().first()) {
            facts.cwd = tree.text("uri").and_then(folder);
            let branch = tree.get("repository").and_then(|repository| repository.text("ref"));
            facts.branch = branch.map(|name| name.strip_prefix("refs/heads/").unwrap_or(name).to_owned());
        }
        let title = title::given(node.text("title"));
        title
            .into_iter()
            .map(|title| Event::new(number, None, EventKind::Title(TitleRank::Model), title))
            .collect()
    }

    fn usage(&mut self, usage: &Node<'_>) {
        if let Some(model) = usage.text("model") {
            self.facts.model = Some(model.to_owned());
        }
        let kinds = ["inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens"];
        let tokens: u64 = kinds.into_iter().filter_map(|kind| usage.count(kind)).sum();
        *self.facts.tokens.get_or_insert(0) += tokens;
    }
}

impl Decoder for AmpDecoder {
    fn record(&mut self, node: &Node<'_>, number: u64) -> Option<Vec<Event>> {
        let Some(role) = node.text("role") else { return Some(self.thread(node, number)) };
        let (usage, content) = (node.get("usage"), node.get("content"));
        let sent = node.get("meta").and_then(|meta| meta.get("sentAt"));
        let at = millis(sent.or_else(|| usage?.get("timestamp")));
        self.facts.updated_at = self.facts.updated_at.max(at);
        if let Some(usage) = usage {
            self.usage(usage);
        }
        if role == "assistant" {
            return Some(blocks::answer(&TOOLS, number, at, content));
        }
        let mut results =
            content.map_or(&[][..], Node::items).iter().filter(|block| is_result(block)).peekable();
        if results.peek().is_some() {
            return Some(results.filter_map(|block| result(block, number, at)).collect());
        }
        let prompt = blocks::prompt(blocks::texts(content), content).filter(|_| role == "user");
        Some(prompt.into_iter().map(|text| Event::new(number, at, EventKind::Prompt, text)).collect())
    }

    fn facts(&self) -> SessionFacts {
        self.facts.clone()
    }
}

fn is_result(block: &Node<'_>) -> bool {
    block.text("type") == Some("tool_result")
}

/// Returns the event of a result; `None` while the tool runs, or if Amp exited before the tool did.
fn result(block: &Node<'_>, number: u64, at: Option<i64>) -> Option<Event> {
    let run = block.get("run")?;
    let output = run.get("result").filter(|result| !matches!(result, Node::Null)).or(run.get("error"));
    let text = output.map(Node::flattened).unwrap_or_default();
    let outcome = match run.text("status") {
        Some("in-progress") => return None,
        Some("done") => {
            let code = run.get("result").and_then(|result| action::code(result, "exitCode"));
            Some(Outcome::Exit(code.unwrap_or(0)))
        }
        Some("error" | "cancelled" | "rejected-by-user") => Some(Outcome::NotRun),
        _ => None,
    };
    Some(calls::ended(number, at, block.text("toolUseID"), text, outcome))
}

/// Returns the path of a `file://` URL.
fn folder(uri: &str) -> Option<PathBuf> {
    let path = percent_decode_str(uri.strip_prefix("file://")?).decode_utf8().ok()?;
    path.starts_with('/').then(|| PathBuf::from(path.as_ref()))
}
