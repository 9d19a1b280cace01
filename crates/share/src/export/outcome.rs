//! What the forms show of a tool call.

use super::{
    document::Call,
    options::ToolOutput,
    parts::{diff, shortened},
};
use openagents_core::update::ToolContent;
use serde_json::Value;

/// A part of a call, in the order in which it is shown.
#[derive(Debug, PartialEq)]
pub(super) enum Shown {
    /// Code in a language; empty for plain text.
    Code { language: &'static str, text: String },
    /// Markdown of the agent.
    Markdown(String),
    /// A sentence.
    Note(String),
}

/// Returns what a call did and its output.
pub(super) fn parts(call: &Call, tools: ToolOutput) -> Vec<Shown> {
    let mut parts = Vec::new();
    if tools == ToolOutput::None {
        return parts;
    }
    let code = |language, text: &str| {
        let text = shortened(text, tools).filter(|text| !text.is_empty())?;
        Some(Shown::Code { language, text })
    };
    let mut is_described = false;
    for content in &call.content {
        match content {
            ToolContent::Text { text } if !text.trim().is_empty() => {
                parts.push(Shown::Markdown(text.clone()))
            }
            ToolContent::Text { .. } => {}
            ToolContent::Diff { old_text, new_text, .. } => {
                is_described = true;
                parts.extend(code("diff", &diff(old_text.as_deref().unwrap_or_default(), new_text)));
            }
            ToolContent::Terminal { output, exit_code, .. } => {
                is_described = true;
                parts.extend(code("", output));
                if let Some(code) = exit_code.filter(|code| *code != 0) {
                    parts.push(Shown::Note(format!("Exit code {code}.")));
                }
            }
        }
    }
    let has_terminal = call.content.iter().any(|content| matches!(content, ToolContent::Terminal { .. }));
    if !is_described && call.title == call.name && !is_empty(&call.input) {
        let input = serde_json::to_string_pretty(&call.input).unwrap_or_default();
        parts.extend(code("json", &input));
    }
    parts.extend(code("", &call.output));
    if let Some(error) = call.error.as_deref().filter(|_| !has_terminal) {
        parts.push(Shown::Note("Failed:".to_owned()));
        parts.extend(code("", error));
    }
    parts
}

fn is_empty(input: &Value) -> bool {
    input.is_null() || input.as_object().is_some_and(serde_json::Map::is_empty)
}
