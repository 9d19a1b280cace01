//! The threads that Sourcegraph's Amp stored on this machine (until about spring 2026; the samples are from October
//! 2025). A file is one JSON document with one thread.
//!
//! The format was derived from logs. A message's line number is its id plus one; the thread itself is on the line after
//! the last message.

use super::{
    calls::{self, FileTools},
    folder::entries,
    records::Records,
};
use crate::{
    history::{
        log::{
            action::{self, Outcome},
            decoder::{Decoder, SessionFacts},
            event::{Event, EventKind, TitleRank},
            json::Node,
            lines::OpenLog,
            log_file::{LogFile, millis},
            title,
        },
        transcript::SessionFiles,
    },
    limits,
};
use openagents_core::{budget::Budget, file};
use percent_encoding::percent_decode_str;
use serde::Deserialize;
use serde_json::{json, value::RawValue};
use std::{
    io,
    path::{Path, PathBuf},
};

const TOOLS: FileTools = FileTools {
    reads: &["Read", "read_file"],
    edits: &["edit_file", "create_file", "undo_edit", "apply_patch"],
};

#[derive(Default)]
pub(super) struct AmpDecoder {
    facts: SessionFacts,
}

impl AmpDecoder {
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
            return Some(calls::answer(&TOOLS, number, at, content));
        }
        let mut results =
            content.map_or(&[][..], Node::items).iter().filter(|block| is_result(block)).peekable();
        if results.peek().is_some() {
            return Some(results.filter_map(|block| result(block, number, at)).collect());
        }
        let prompt = calls::prompt(calls::texts(content), content).filter(|_| role == "user");
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

/// A thread without the vendor's prompt, which repeats all messages.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Thread<'a> {
    #[serde(default, borrow)]
    messages: Option<Vec<&'a RawValue>>,
    #[serde(default, borrow)]
    title: Option<&'a RawValue>,
    #[serde(default, borrow)]
    created: Option<&'a RawValue>,
    #[serde(default, borrow)]
    env: Option<&'a RawValue>,
    #[serde(default, borrow)]
    usage_ledger: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Numbered {
    message_id: usize,
}

pub(super) fn discover(root: &Path, budget: &Budget) -> Vec<LogFile> {
    let thread = |(path, name): (PathBuf, String)| {
        let id = name.strip_suffix(".json").filter(|id| id.starts_with("T-"))?;
        LogFile::stat(path, id, false, false)
    };
    entries(root, budget).filter_map(thread).collect()
}

pub(super) fn open(files: SessionFiles<'_>) -> io::Result<OpenLog> {
    let path = files.newest;
    let bytes = file::read_document(path, limits::DOCUMENT)?;
    Ok(unfolded(&file::text(&bytes)).into_log())
}

/// Unfolds a thread into its messages, followed by a record about the thread as a whole.
fn unfolded(text: &str) -> Records {
    let mut records = Records::default();
    let Ok(thread) = serde_json::from_str::<Thread<'_>>(text) else {
        // Counts as one bad line.
        records.push(text);
        return records;
    };
    for message in thread.messages.unwrap_or_default() {
        match serde_json::from_str(message.get()) {
            Ok(Numbered { message_id }) if message_id < limits::NUMBERED => {
                records.push_at(message_id + 1, message.get());
            }
            _ => records.push(message.get()),
        }
    }
    let about = json!({
        "title": thread.title,
        "created": thread.created,
        "env": thread.env,
        "lastUsed": thread.usage_ledger.and_then(|ledger| last_used(ledger.get())),
    });
    records.push(&about.to_string());
    records
}

/// Returns the time of the last paid use, in milliseconds since the epoch.
fn last_used(ledger: &str) -> Option<i64> {
    let ledger = Node::parse_object(ledger)?;
    ledger.get("events")?.items().iter().filter_map(|event| millis(event.get("timestamp"))).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_keeps_its_line() {
        let message = |id: &str| format!("{{\"role\":\"user\",\"messageId\":{id}}}");
        let about = r#"{"title":"t","created":null,"env":null,"lastUsed":1765000000000}"#;
        let thread = |messages: &[String]| {
            let ledger = r#"{"events":[{"timestamp":"2025-12-06T05:46:40.000Z"},{"timestamp":"x"}]}"#;
            let messages = messages.join(",\n");
            format!(r#"{{"title":"t","~debug":{{"a":1}},"messages":[{messages}],"usageLedger":{ledger}}}"#)
        };
        let (zero, three, huge) = (message("0"), message("3"), message("99999999999"));
        let rows = [
            (vec![zero.clone(), three.clone()], vec![(1, zero.as_str()), (4, &three), (5, about)]),
            (vec![huge.clone(), zero.clone()], vec![(1, &huge), (2, &zero), (3, about)]),
            (vec![], vec![(1, about)]),
        ];
        for (messages, expected) in rows {
            assert_eq!(unfolded(&thread(&messages)).numbered(), expected, "{messages:?}");
        }
        assert_eq!(unfolded("{\n\"messages\"").numbered(), [(1, "{ \"messages\"")]);
    }
}
