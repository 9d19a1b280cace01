//! A session as a file: Markdown, one HTML page, or JSON.

mod as_html;
mod as_json;
mod as_markdown;
mod document;
mod names;
mod options;
mod outcome;
mod parts;

pub use document::{Call, Document, Entry, EntryKind, Head};
pub use names::OwnNames;
pub use options::{ExportOptions, Format, ToolOutput};

use crate::{
    controls::without_controls,
    secrets::{FoundSecret, SecretSearch},
};
use jiff::tz::TimeZone;
use std::borrow::Cow;

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

#[cfg(test)]
mod tests;
