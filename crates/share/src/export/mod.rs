//! A session as a file: Markdown, one HTML page, or JSON.

mod as_html;
mod as_json;
mod as_markdown;
mod document;
mod names;
mod outcome;

pub use document::{Call, Document, Entry, EntryKind, Head};
pub use names::OwnNames;

use crate::{
    controls::without_controls,
    secrets::{FoundSecret, SecretSearch},
};
use jiff::tz::TimeZone;
use std::borrow::Cow;

/// Maximum bytes of a Markdown or JSON file.
const MARKDOWN_BYTES: usize = 32 << 20;
/// Maximum bytes of an HTML file.
const HTML_BYTES: usize = 64 << 20;

/// The form of an exported session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Format {
    #[default]
    Markdown,
    /// One page without scripts and without references to other files.
    Html,
    Json,
}

/// How much of the tools' output is exported.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ToolOutput {
    /// The first 20 lines of each output.
    #[default]
    Short,
    Full,
    /// Only which tools were called.
    None,
}

/// What the user chooses for an export.
#[derive(Debug, Clone, Default)]
pub struct ExportOptions {
    pub format: Format,
    pub tools: ToolOutput,
    /// Leaves all secrets as they are.
    pub show_secrets: bool,
    /// Secrets, by their places in [`Exported::secrets`], that stay as they are.
    pub shown: Vec<usize>,
}

/// An exported session.
#[derive(Debug)]
pub struct Exported {
    pub text: String,
    /// Without secrets too: it may name the file.
    pub title: Option<String>,
    /// All secrets that were found, hidden or not.
    pub secrets: Vec<FoundSecret>,
    /// Messages and calls at the beginning, at least so many, that were left out because the file would be too long.
    pub omitted: usize,
}

impl Document {
    /// Writes the document without its secrets and without the names of the user and the computer.
    pub fn export(mut self, options: &ExportOptions, names: &OwnNames, zone: &TimeZone) -> Exported {
        self.each_text(&mut |_, text| {
            if let Cow::Owned(plain) = without_controls(text) {
                *text = plain;
            }
        });
        self.entries.retain(|entry| !matches!(&entry.kind, EntryKind::Prompt(text) if text.is_empty()));
        let mut search = SecretSearch::default();
        self.each_text(&mut |line, text| search.look(text, line));
        for entry in &self.entries {
            if let EntryKind::Call(call) = &entry.kind {
                search.look_in_json(&call.input, entry.line);
            }
        }
        let all: Vec<usize> = (0..search.found().len()).collect();
        let shown = if options.show_secrets { &all } else { &options.shown };
        let hidden = search.hide_except(shown);
        self.each_text(&mut |_, text| {
            let replaced = names.replace(&hidden.hide(text)).into_owned();
            *text = replaced;
        });
        let is_shown = shown.iter().filter(|at| **at < all.len()).count();
        let foot = foot(all.len() - is_shown, is_shown);
        let starts_late = usize::from(self.starts_late);
        let (text, omitted) = match options.format {
            Format::Markdown => as_markdown::write(&self, options.tools, zone, &foot),
            Format::Html => as_html::write(&self, options.tools, zone, &foot),
            Format::Json => as_json::write(&self, options.tools),
        };
        let omitted = omitted + starts_late;
        Exported { text, title: self.head.title, secrets: search.found().to_vec(), omitted }
    }
}

/// Returns the sentence about secrets at the end of a file; empty if none were found.
fn foot(hidden: usize, shown: usize) -> String {
    let count = |count: usize| if count == 1 { "1 value".to_owned() } else { format!("{count} values") };
    let mut parts = Vec::new();
    if hidden > 0 {
        parts.push(format!("{} hidden as a secret.", count(hidden)));
    }
    if shown > 0 {
        parts.push(format!("{} shown by choice.", count(shown)));
    }
    parts.join(" ")
}

/// The note in a file whose session was cut.
const LEFT_OUT: &str = "The beginning is left out, because the session is too long for one file.";

/// Renders entries, the newest first, until there are `bytes`. Returns them in order, and the number of those left out.
fn newest_within(entries: &[Entry], bytes: usize, render: impl Fn(&Entry) -> String) -> (Vec<String>, usize) {
    let mut room = bytes;
    let mut parts = Vec::new();
    for part in entries.iter().rev().map(render) {
        let Some(left) = room.checked_sub(part.len()) else { break };
        room = left;
        parts.push(part);
    }
    parts.reverse();
    let omitted = entries.len() - parts.len();
    (parts, omitted)
}

/// Returns the first 20 lines of an output, or all of it; `None` if none is wanted.
fn shortened(output: &str, tools: ToolOutput) -> Option<String> {
    const LINES: usize = 20;
    const BYTES: usize = 4_000;
    let output = output.trim_end();
    match tools {
        ToolOutput::None => None,
        ToolOutput::Full => Some(output.to_owned()),
        ToolOutput::Short => {
            let end = output.match_indices('\n').nth(LINES - 1).map_or(output.len(), |(end, _)| end);
            let end = output.floor_char_boundary(end.min(BYTES));
            let rest = output[end..].lines().filter(|line| !line.is_empty()).count();
            Some(match rest {
                0 => output.to_owned(),
                1 => format!("{}\n… 1 more line", &output[..end]),
                rest => format!("{}\n… {rest} more lines", &output[..end]),
            })
        }
    }
}

/// Returns a time like `2026-11-24 14:02`.
fn time(at: i64, zone: &TimeZone) -> Option<String> {
    let at = jiff::Timestamp::from_millisecond(at).ok()?.to_zoned(zone.clone());
    Some(at.strftime("%Y-%m-%d %H:%M").to_string())
}

/// Returns a change as lines that begin with `-`, `+` or a space.
fn diff(old: &str, new: &str) -> String {
    /// Longer texts, in bytes, are shown as removed and added.
    const COMPARED: usize = 50_000;
    if old.len() + new.len() > COMPARED {
        let lines = |sign: char, text: &str| -> String {
            text.lines().map(|line| format!("{sign}{line}\n")).collect()
        };
        return lines('-', old) + &lines('+', new);
    }
    let changes = similar::TextDiff::from_lines(old, new);
    let mut written = String::new();
    for (at, group) in changes.grouped_ops(3).iter().enumerate() {
        if at > 0 {
            written.push_str("…\n");
        }
        for change in group.iter().flat_map(|op| changes.iter_changes(op)) {
            written.push(match change.tag() {
                similar::ChangeTag::Delete => '-',
                similar::ChangeTag::Insert => '+',
                similar::ChangeTag::Equal => ' ',
            });
            written.push_str(change.value().trim_end_matches(['\n', '\r']));
            written.push('\n');
        }
    }
    written
}

#[cfg(test)]
mod tests;
