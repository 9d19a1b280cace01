//! Unfolds a text transcript into the records of the JSON form: each part of a message is a record, at the line where
//! it begins.

use super::super::records::Records;
use crate::{
    history::lines::{self, OpenLog},
    limits,
};
use openagents_core::file;
use serde_json::{Map, Value, json};
use std::{io, path::Path};

pub(super) fn open(path: &Path) -> io::Result<OpenLog> {
    if path.extension().is_none_or(|extension| extension != "txt") {
        return lines::open(path);
    }
    let bytes = file::read_document(path, limits::DOCUMENT)?;
    Ok(unfolded(&file::text(&bytes)).into_log())
}

fn unfolded(text: &str) -> Records {
    let mut messages = Messages::default();
    let mut after_blank = true;
    for (at, line) in text.lines().enumerate() {
        match line {
            "user:" | "assistant:" if after_blank => {
                messages.end();
                messages.role = Some(line.trim_end_matches(':'));
            }
            _ => messages.line(at + 1, line),
        }
        after_blank = line.trim().is_empty();
    }
    messages.end();
    messages.records
}

#[derive(Default)]
struct Messages<'a> {
    records: Records,
    /// The author of the current message; `None` before the first one.
    role: Option<&'a str>,
    part: Option<Part<'a>>,
}

struct Part<'a> {
    kind: Kind<'a>,
    line: usize,
    body: Vec<&'a str>,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind<'a> {
    Text,
    /// Up to its closing tag.
    Think,
    /// Up to an empty line.
    Thinking,
    /// A call of the named tool.
    Call(&'a str),
    Result(&'a str),
}

impl<'a> Messages<'a> {
    fn line(&mut self, number: usize, line: &'a str) {
        if self.role.is_none() {
            return;
        }
        // A prompt may quote a transcript.
        let opened = if self.role == Some("assistant") { opened(line) } else { None };
        let rest = match opened {
            Some((kind, rest)) => {
                self.begin(kind, number);
                rest
            }
            None => line,
        };
        match &mut self.part {
            None if rest.trim().is_empty() => return,
            None => self.begin(Kind::Text, number),
            Some(part) if part.kind == Kind::Thinking && rest.trim().is_empty() && !part.body.is_empty() => {
                return self.end();
            }
            Some(_) => {}
        }
        let Some(part) = &mut self.part else { return };
        match rest.split_once("</think>").filter(|_| part.kind == Kind::Think) {
            Some((thought, text)) => {
                part.body.push(thought);
                self.end();
                self.line(number, text);
            }
            None => part.body.push(rest),
        }
    }

    fn begin(&mut self, kind: Kind<'a>, line: usize) {
        self.end();
        self.part = Some(Part { kind, line, body: vec![] });
    }

    /// Ends the open part and writes it.
    fn end(&mut self) {
        let (Some(part), Some(role)) = (self.part.take(), self.role) else { return };
        let body = part.body.join("\n").trim().to_owned();
        let block = match part.kind {
            Kind::Call(name) => json!({"type": "tool_use", "name": name, "input": arguments(&part.body)}),
            _ if body.is_empty() => return,
            Kind::Text => json!({"type": "text", "text": body}),
            Kind::Think | Kind::Thinking => json!({"type": "thinking", "thinking": body}),
            Kind::Result(name) => json!({"type": "tool_result", "name": name, "content": body}),
        };
        let record = json!({"role": role, "message": {"content": [block]}});
        self.records.put(part.line, &record.to_string());
    }
}

/// Returns the kind of part that a line opens, and the text of the part on that line.
fn opened(line: &str) -> Option<(Kind<'_>, &str)> {
    if let Some(name) = line.strip_prefix("[Tool call] ") {
        Some((Kind::Call(name.trim()), ""))
    } else if let Some(name) = line.strip_prefix("[Tool result] ") {
        Some((Kind::Result(name.trim()), ""))
    } else if let Some(thought) = line.strip_prefix("[Thinking]") {
        Some((Kind::Thinking, thought))
    } else {
        Some((Kind::Think, line.strip_prefix("<think>")?))
    }
}

/// Reads lines such as `  path: src/a.ts`. A long value continues in lines without an indent; a line that repeats a key
/// is one of them.
fn arguments(body: &[&str]) -> Map<String, Value> {
    let mut values: Vec<(&str, String)> = Vec::new();
    for line in body {
        let new = key(line).filter(|(key, _)| values.iter().all(|(known, _)| known != key));
        match (new, values.last_mut()) {
            (Some((key, value)), _) => values.push((key, value.to_owned())),
            (None, Some((_, value))) => {
                value.push('\n');
                value.push_str(line);
            }
            (None, None) => {}
        }
    }
    values.into_iter().map(|(key, value)| (key.to_owned(), value.trim_end().into())).collect()
}

fn key(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.strip_prefix("  ")?.split_once(':')?;
    let is_name = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_name.then(|| (key, value.strip_prefix(' ').unwrap_or(value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_a_record_at_its_line() {
        let text = "user:\nfix\nuser:\n\n\nassistant:\n<think>a\nb</think>Done.\n[Tool call] Write\n  path: a.ts\n  \
                    contents: x\n\ny\n\n[Tool result] Write\n\n[Thinking] more\n\nEnd.";
        let expected = [
            (2, r#"{"role":"user","message":{"content":[{"type":"text","text":"fix\nuser:"}]}}"#),
            (7, r#"{"role":"assistant","message":{"content":[{"type":"thinking","thinking":"a\nb"}]}}"#),
            (8, r#"{"role":"assistant","message":{"content":[{"type":"text","text":"Done."}]}}"#),
            (
                9,
                r#"{"role":"assistant","message":{"content":[{"type":"tool_use","name":"Write","input":{"path":"a.ts","contents":"x\n\ny"}}]}}"#,
            ),
            (17, r#"{"role":"assistant","message":{"content":[{"type":"thinking","thinking":"more"}]}}"#),
            (19, r#"{"role":"assistant","message":{"content":[{"type":"text","text":"End."}]}}"#),
        ];
        assert_eq!(unfolded(text).numbered(), expected);
        assert_eq!(unfolded(&text.replace('\n', "\r\n")).numbered(), expected);
    }

    #[test]
    fn other_text_has_no_records() {
        assert_eq!(unfolded("hello\nworld\n").numbered(), []);
        assert_eq!(unfolded("").numbered(), []);
    }
}
