//! One tool call of an agent and the terminals shown in it.

use crate::{
    limits::{CALL_TERMINALS, DIFF_SIDE, SHOWN_TERMINAL, SHOWN_TEXT, TITLE_CHARS},
    process::Tail,
};
use openagents_core::{
    text::{clip_bytes, line},
    update::{Location, ToolCallDetails, ToolContent, ToolKind},
    visible::escaped,
};
use serde_json::Value;
use std::time::Instant;

/// A content piece of a call. The output of a terminal is filled in when the piece is sent.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Shown {
    Fixed(ToolContent),
    Terminal(String),
}

/// The first report of a call, or an update of it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct CallNews {
    pub(crate) id: String,
    pub(crate) name: Option<String>,
    /// `None` if unchanged.
    pub(crate) status: Option<CallStatus>,
    /// Details without content, which is in `shown`.
    pub(crate) details: ToolCallDetails,
    /// `None` if unchanged.
    pub(crate) shown: Option<Vec<Shown>>,
    pub(crate) raw_output: Option<Value>,
    pub(crate) terminals: Vec<TerminalNews>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallStatus {
    Running,
    Completed,
    Failed,
}

/// Output of a terminal that the agent runs itself.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TerminalNews {
    pub(crate) id: String,
    pub(crate) data: String,
    /// Exit code and signal, once it has ended.
    pub(crate) exit: Option<(Option<i32>, Option<String>)>,
    pub(crate) shows: bool,
}

#[derive(Debug)]
pub(super) struct Call {
    pub(super) id: String,
    pub(super) turn: u64,
    pub(super) open: bool,
    pub(super) started: bool,
    pub(super) kind: ToolKind,
    /// The last reported values, kept until the call ends to drop repeated ones.
    pub(super) title: Option<String>,
    pub(super) raw_input: Option<Value>,
    pub(super) locations: Vec<Location>,
    /// Kept while the call is open, and as long as it shows a terminal, which is sent repeatedly.
    pub(super) shown: Vec<Shown>,
    /// The terminal that this row was created for, until one of the agent's calls takes the row over.
    pub(super) made_for: Option<String>,
    /// The call has ended and the text of its terminals is dropped; its content is no longer sent.
    pub(super) forgotten: bool,
    /// When the content was last sent, and whether its terminals have new output since.
    pub(super) last_sent: Option<Instant>,
    pub(super) dirty: bool,
}

#[derive(Debug)]
pub(super) struct ShownTerminal {
    pub(super) command: Option<String>,
    pub(super) output: Tail,
    pub(super) exit_code: Option<i32>,
    pub(super) signal: Option<String>,
}

impl Default for ShownTerminal {
    fn default() -> Self {
        Self { command: None, output: Tail::new(SHOWN_TERMINAL), exit_code: None, signal: None }
    }
}

impl ShownTerminal {
    pub(super) fn has_ended(&self) -> bool {
        self.exit_code.is_some() || self.signal.is_some()
    }
}

impl Call {
    pub(super) fn terminals(&self) -> impl Iterator<Item = &str> {
        self.shown.iter().filter_map(|piece| match piece {
            Shown::Terminal(id) => Some(id.as_str()),
            Shown::Fixed(_) => None,
        })
    }

    pub(super) fn fixed_bytes(&self) -> usize {
        let bytes = |piece: &Shown| match piece {
            Shown::Fixed(ToolContent::Text { text }) => text.len(),
            Shown::Fixed(ToolContent::Diff { old_text, new_text, .. }) => {
                new_text.len() + old_text.as_ref().map_or(0, String::len)
            }
            _ => 0,
        };
        self.shown.iter().map(bytes).sum()
    }

    /// Replaces the content. Terminals already shown stay: agents send the final content without their text.
    pub(super) fn show(&mut self, shown: Vec<Shown>) {
        let is_terminal = |piece: &Shown| matches!(piece, Shown::Terminal(_));
        let terminals = self.shown.drain(..).filter(is_terminal);
        let mut all: Vec<_> = terminals.filter(|piece| !shown.contains(piece)).collect();
        all.extend(shown);
        self.shown = bounded(all);
    }

    pub(super) fn names(&self, command: &str) -> bool {
        let mut input = self.raw_input.iter().flat_map(texts);
        self.title.as_deref().is_some_and(|title| title.contains(command))
            || input.any(|text| text.contains(command))
    }

    /// Stores new details and removes repeated ones, so that whole files are not logged twice.
    pub(super) fn forget_repeated(&mut self, details: &mut ToolCallDetails) {
        if details.title.is_some() && details.title == self.title {
            details.title = None;
        }
        if details.kind == Some(self.kind) {
            details.kind = None;
        }
        if details.raw_input.is_some() && details.raw_input == self.raw_input {
            details.raw_input = None;
        }
        if details.locations == self.locations {
            details.locations.clear();
        }
        self.kind = details.kind.unwrap_or(self.kind);
        if details.title.is_some() {
            self.title.clone_from(&details.title);
        }
        if details.raw_input.is_some() {
            self.raw_input.clone_from(&details.raw_input);
        }
        if !details.locations.is_empty() {
            self.locations.clone_from(&details.locations);
        }
    }
}

pub(super) fn failure_reason(raw_output: Option<&Value>, content: &[ToolContent]) -> String {
    let text = content.iter().find_map(|piece| match piece {
        ToolContent::Text { text } => Some(text.trim_matches(['`', '\n']).to_owned()),
        ToolContent::Terminal { exit_code: Some(code), .. } => Some(format!("exit code {code}")),
        _ => None,
    });
    let reply = match raw_output {
        Some(Value::String(reply)) => Some(reply.clone()),
        Some(Value::Object(reply)) => match (reply.get("error"), reply.get("exit_code")) {
            (Some(Value::String(error)), _) => Some(error.clone()),
            (_, Some(Value::Number(code))) => Some(format!("exit code {code}")),
            _ => text,
        },
        _ => text,
    };
    reply.as_deref().and_then(one_line).unwrap_or_else(|| "it failed".to_owned())
}

/// Returns the strings in an input, two levels deep.
fn texts(input: &Value) -> Vec<String> {
    let one = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        // A command with its arguments.
        Value::Array(words) => Some(words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")),
        _ => None,
    };
    match input {
        Value::Object(fields) => {
            let command = ["command", "args"].iter().filter_map(|name| one(fields.get(*name)?));
            let line = command.collect::<Vec<_>>().join(" ");
            fields.values().filter_map(one).chain([line]).collect()
        }
        other => one(other).into_iter().collect(),
    }
}

/// Drops the terminals that exceed the limit of one call.
pub(super) fn bounded(mut shown: Vec<Shown>) -> Vec<Shown> {
    let mut terminals = 0;
    shown.retain(|piece| {
        terminals += usize::from(matches!(piece, Shown::Terminal(_)));
        matches!(piece, Shown::Fixed(_)) || terminals <= CALL_TERMINALS
    });
    shown
}

/// Returns display text on one line, with invisible characters escaped, because every client shows it next to our own
/// text. `None` if empty.
pub(crate) fn one_line(text: &str) -> Option<String> {
    Some(escaped(&line(text, TITLE_CHARS)).into_owned()).filter(|line| !line.is_empty())
}

pub(crate) fn text(text: &str) -> ToolContent {
    ToolContent::Text { text: clip_bytes(text, SHOWN_TEXT) }
}

/// A diff. For long texts, the common lines at both ends are dropped; the changed part
/// is truncated if it is still long.
pub(crate) fn diff(path: String, old_text: Option<String>, new_text: String) -> ToolContent {
    let old = old_text.as_deref().unwrap_or_default();
    let is_long = |old: &str, new: &str| old.len() > DIFF_SIDE || new.len() > DIFF_SIDE;
    if !is_long(old, &new_text) {
        return ToolContent::Diff { path, old_text, new_text, truncated: false };
    }
    let (old, new) = without_common_lines(old, &new_text);
    let truncated = is_long(old, new);
    let (old, new_text) = (clip_bytes(old, DIFF_SIDE), clip_bytes(new, DIFF_SIDE));
    ToolContent::Diff { path, old_text: old_text.map(|_| old), new_text, truncated }
}

fn without_common_lines<'a>(old: &'a str, new: &'a str) -> (&'a str, &'a str) {
    let same = |(old, new): &(&str, &str)| old == new;
    let pairs = old.split_inclusive('\n').zip(new.split_inclusive('\n'));
    let start: usize = pairs.take_while(same).map(|(line, _)| line.len()).sum();
    let (old, new) = (&old[start..], &new[start..]);
    let pairs = old.split_inclusive('\n').rev().zip(new.split_inclusive('\n').rev());
    let end: usize = pairs.take_while(same).map(|(line, _)| line.len()).sum();
    (&old[..old.len() - end], &new[..new.len() - end])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: the title of a call could show its end first.
    #[test]
    fn one_line_escapes_invisible_characters() {
        let title = one_line("Read\n gpj.\u{202e}sr\u{200b} \u{1b}[2Jnow");
        assert_eq!(title.as_deref(), Some("Read gpj.\\u{202e}sr\\u{200b} [2Jnow"));
    }

    #[test]
    fn diff_of_long_file_shows_the_change() {
        let same = "the same line\n".repeat(DIFF_SIDE / 10);
        let (old, new) = (format!("{same}old\n{same}"), format!("{same}new\n{same}"));
        let rows = [
            (Some(old), new.clone(), Some("old\n"), "new\n", false),
            (Some("a\nb\n".to_owned()), "a\nc\n".to_owned(), Some("a\nb\n"), "a\nc\n", false),
            (Some(same.clone()), same.clone(), Some(""), "", false),
            (Some(same.clone()), format!("{same}end"), Some(""), "end", false),
        ];
        for (old, new, old_shown, new_shown, cut) in rows {
            let ToolContent::Diff { old_text, new_text, truncated, .. } = diff("a".to_owned(), old, new)
            else {
                panic!("a change is a change");
            };
            assert_eq!((old_text.as_deref(), new_text.as_str(), truncated), (old_shown, new_shown, cut));
        }
        let ToolContent::Diff { old_text: None, new_text, truncated: true, .. } =
            diff("a".to_owned(), None, new)
        else {
            panic!("a new file has no old text");
        };
        assert_eq!(new_text.len(), DIFF_SIDE + "…".len());
    }
}
