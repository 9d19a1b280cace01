//! Checks what a brief says against the log that it quotes.

use anyhow::{Context as _, Result};
use serde_json::Value;
use std::collections::BTreeMap;

/// A line of a brief with the line of the log that it cites.
#[derive(Debug)]
pub(super) struct Citation {
    heading: String,
    pub(super) shown: String,
    pub(super) source: u64,
}

/// Returns the citations of a brief as the server answers it.
pub(super) fn citations(brief: &Value) -> Result<Vec<Citation>> {
    let text: Vec<&str> = brief["text"].as_str().context("a text")?.lines().collect();
    let mut citations = Vec::new();
    for line in brief["lines"].as_array().context("lines")? {
        let at = line["line"].as_u64().context("a line")? as usize - 1;
        let source = line["source"].as_u64().context("a source")?;
        let shown = *text.get(at).context("a line of the text")?;
        let heading = text[..at].iter().rev().find_map(|line| line.strip_prefix("## ")).unwrap_or_default();
        citations.push(Citation { heading: heading.to_owned(), shown: shown.to_owned(), source });
    }
    Ok(citations)
}

impl Citation {
    /// Returns whether the log says there what this line quotes. The outcome of a command is in another line than the
    /// command.
    pub(super) fn holds(&self, log: &Log) -> bool {
        let Some(quote) = self
            .shown
            .strip_prefix("- ")
            .and_then(|shown| shown.strip_suffix(&format!(" [{}]", self.source)))
        else {
            return false;
        };
        let said = log.said(self.source);
        let has = |quote: &str| said.contains(quote.trim_end_matches('…').trim_end());
        let after = |start: &str| quote.strip_prefix(start);
        match self.heading.as_str() {
            "Commands" => {
                let command = quote.rsplit_once("` → ").map_or(quote, |(command, _)| command);
                let command = command.trim_matches('`');
                has(command) || log.said_by_call(self.source).contains(command)
            }
            "Files" => {
                let path = quote.rsplit_once(": ").map_or(quote, |(path, _)| path);
                has(path)
            }
            "Open" => {
                let command = after("The last command failed: ");
                let is_failed = command
                    .is_some_and(|command| has(command) || log.said_by_call(self.source).contains(command));
                let other = after("To do: ").or_else(|| after("Question to the user: ")).unwrap_or(quote);
                is_failed || quote == "The turn was stopped here" || has(other)
            }
            "Last messages" => has(after("User: ").or_else(|| after("Agent: ")).unwrap_or(quote)),
            _ => match after("Denied ").and_then(|denied| denied.split_once(": “")) {
                Some((_, reason)) => has(reason.trim_end_matches('”')),
                None => has(after("Approved plan: ").unwrap_or(quote)),
            },
        }
    }
}

/// The lines of a log, each with its texts on one line.
#[derive(Debug)]
pub(super) struct Log {
    lines: Vec<(Value, String)>,
    /// The lines of calls, by their ids.
    calls: BTreeMap<String, usize>,
}

impl Log {
    pub(super) fn new(text: &str) -> Result<Self> {
        let mut log = Self { lines: Vec::new(), calls: BTreeMap::new() };
        for line in text.lines() {
            let value: Value = serde_json::from_str(line)?;
            let mut texts = Vec::new();
            collect(&value, &mut texts);
            for id in ids(&value, &["tool_use", "function_call", "custom_tool_call"]) {
                log.calls.insert(id, log.lines.len());
            }
            log.lines.push((value, one_line(&texts.join(" "))));
        }
        Ok(log)
    }

    /// Returns the texts of a line, from 1.
    fn said(&self, line: u64) -> &str {
        let at = usize::try_from(line).unwrap_or_default().checked_sub(1);
        at.and_then(|at| self.lines.get(at)).map_or("", |(_, text)| text)
    }

    /// Returns the texts of the call whose result is in this line.
    fn said_by_call(&self, line: u64) -> &str {
        let results = ["tool_result", "function_call_output", "custom_tool_call_output"];
        let at = usize::try_from(line).unwrap_or_default().checked_sub(1);
        let ids = at.and_then(|at| self.lines.get(at)).map(|(value, _)| ids(value, &results));
        let call = ids.into_iter().flatten().find_map(|id| self.calls.get(&id).copied());
        call.map_or("", |at| &self.lines[at].1)
    }

    /// Returns what the model read and wrote, without what agents store beside it.
    pub(super) fn conversation(&self) -> String {
        let mut said = Vec::new();
        for (value, _) in &self.lines {
            let is_conversation =
                ["user", "assistant", "response_item"].iter().any(|kind| value["type"] == *kind);
            let is_prompt = ["system", "developer"].iter().any(|role| value["payload"]["role"] == *role);
            if is_conversation && !is_prompt {
                collect(&value["message"]["content"], &mut said);
                collect(&value["payload"], &mut said);
            }
        }
        said.join("\n")
    }
}

/// Returns the ids of the calls in a line, or of their results.
fn ids(value: &Value, kinds: &[&str]) -> Vec<String> {
    let blocks = value["message"]["content"].as_array().into_iter().flatten().chain([&value["payload"]]);
    let own = blocks.filter(|block| kinds.iter().any(|kind| block["type"] == *kind));
    own.filter_map(|block| {
        let id = ["tool_use_id", "call_id", "id"].iter().find_map(|name| block[*name].as_str());
        id.map(str::to_owned)
    })
    .collect()
}

/// Collects all texts of a value, also of JSON in texts.
fn collect(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => match serde_json::from_str::<Value>(text) {
            Ok(inner @ (Value::Object(_) | Value::Array(_))) => collect(&inner, texts),
            _ => texts.push(text.clone()),
        },
        Value::Array(values) => values.iter().for_each(|value| collect(value, texts)),
        Value::Object(fields) => fields.values().for_each(|value| collect(value, texts)),
        _ => {}
    }
}

/// As briefs show texts.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
