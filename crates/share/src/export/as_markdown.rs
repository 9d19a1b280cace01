//! The Markdown form.

use super::{
    document::{Document, Entry, EntryKind, Head},
    options::ToolOutput,
    outcome::{self, Shown},
    parts::{LEFT_OUT, MARKDOWN_BYTES, newest_within, time},
};
use jiff::tz::TimeZone;
use openagents_core::text::{fenced, one_line};
use pulldown_cmark::{Event, Parser};

pub(super) fn write(document: &Document, tools: ToolOutput, zone: &TimeZone, foot: &str) -> (String, usize) {
    let (parts, omitted) = newest_within(&document.entries, MARKDOWN_BYTES, |entry| part(entry, tools));
    let mut written = head(&document.head, zone);
    if omitted > 0 || document.starts_late {
        written.push_str(&format!("*{LEFT_OUT}*\n\n"));
    }
    written.push_str(&parts.concat());
    if !foot.is_empty() {
        written.push_str(&format!("---\n\n*{foot}*\n"));
    }
    (written, omitted)
}

fn head(head: &Head, zone: &TimeZone) -> String {
    let title = one_line(head.title.as_deref().unwrap_or("Untitled session"));
    format!("# {}\n\n*{}*\n\n", escaped(&title), escaped(&details(head, zone)))
}

/// Returns agent, model, branch and time on one line.
pub(super) fn details(head: &Head, zone: &TimeZone) -> String {
    let mut parts = vec![head.agent.clone()];
    parts.extend(head.model.clone());
    parts.extend(head.branch.as_ref().map(|branch| format!("branch {branch}")));
    let updated = time(head.updated_at, zone);
    parts.extend(match (head.created_at.and_then(|at| time(at, zone)), updated) {
        (Some(from), Some(to)) if from != to => Some(format!("{from} to {to}")),
        (_, to) => to,
    });
    one_line(&parts.join(" · "))
}

fn part(entry: &Entry, tools: ToolOutput) -> String {
    match &entry.kind {
        EntryKind::Prompt(text) => {
            let quoted: String =
                text.trim().lines().map(|line| format!("> {line}").trim_end().to_owned() + "\n").collect();
            format!("{quoted}\n")
        }
        EntryKind::Answer(text) => format!("{}\n\n", closed(text.trim())),
        EntryKind::Thought(_) if tools == ToolOutput::None => String::new(),
        EntryKind::Thought(text) => {
            format!("<details><summary>Thoughts</summary>\n\n{}\n\n</details>\n\n", closed(text.trim()))
        }
        EntryKind::Call(call) => {
            let mut written = format!("- {}\n\n", code(&one_line(&call.title)));
            for shown in outcome::parts(call, tools) {
                let text = match shown {
                    Shown::Code { language, text } => {
                        fenced(&text).replacen("`\n", &format!("`{language}\n"), 1)
                    }
                    Shown::Markdown(text) => closed(text.trim()),
                    Shown::Note(text) => text,
                };
                // Indented: it belongs to the item of the list.
                for line in text.lines() {
                    written.push_str(format!("  {line}").trim_end());
                    written.push('\n');
                }
                written.push('\n');
            }
            written
        }
    }
}

/// Ends a code block that is still open: it would swallow what follows. If nothing ends it, all of it becomes one.
fn closed(text: &str) -> String {
    /// Longer texts, in bytes, and longer fences are not messages.
    const MOST: (usize, usize) = (256 << 10, 16);
    if text.len() > MOST.0 {
        return fenced(text);
    }
    let longest = |sign: char| text.split(|other| other != sign).map(str::len).max().unwrap_or_default();
    let fences = ['`', '~']
        .into_iter()
        .flat_map(|sign| (3..=longest(sign).min(MOST.1)).map(move |count| (sign, count)));
    let with_fence = fences.map(|(sign, count)| format!("{text}\n{}", sign.to_string().repeat(count)));
    std::iter::once(text.to_owned())
        .chain(with_fence)
        .find(|text| is_closed(text))
        .unwrap_or_else(|| fenced(text))
}

/// Returns whether a paragraph after this text is one.
fn is_closed(text: &str) -> bool {
    const NEXT: &str = "\u{e000}";
    let (mut depth, mut is_paragraph) = (0_usize, false);
    for event in Parser::new(&format!("{text}\n\n{NEXT}")) {
        match event {
            Event::Start(_) => depth += 1,
            Event::End(_) => depth = depth.saturating_sub(1),
            // The last one: the text may contain the same character.
            Event::Text(text) if &*text == NEXT => is_paragraph = depth == 1,
            Event::Text(text) | Event::Html(text) | Event::Code(text) if text.contains(NEXT) => {
                is_paragraph = false
            }
            _ => {}
        }
    }
    is_paragraph
}

/// Returns a code span: its ends have more backticks than any run inside.
fn code(text: &str) -> String {
    let longest = text.split(|sign| sign != '`').map(str::len).max().unwrap_or_default();
    let (end, space) = ("`".repeat(longest + 1), if longest > 0 { " " } else { "" });
    format!("{end}{space}{text}{space}{end}")
}

/// Escapes what is syntax on one line.
fn escaped(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for letter in text.chars() {
        if matches!(letter, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#') {
            written.push('\\');
        }
        written.push(letter);
    }
    written
}
