//! The HTML form: one page that loads nothing and runs nothing.

use super::{
    as_markdown::details,
    document::{Document, Entry, EntryKind},
    options::ToolOutput,
    outcome::{self, Shown},
    parts::{HTML_BYTES, LEFT_OUT, newest_within, time},
};
use crate::{
    controls::without_controls,
    markdown::{Code, MAX_BYTES, to_html},
};
use jiff::tz::TimeZone;
use openagents_core::text::one_line;
use pulldown_cmark_escape::escape_html_body_text;
use std::fmt::Write as _;

const STYLE: &str = include_str!("export.css");
/// Nothing may be loaded or run.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

pub(super) fn write(document: &Document, tools: ToolOutput, zone: &TimeZone, foot: &str) -> (String, usize) {
    let (parts, omitted) = newest_within(&document.entries, HTML_BYTES, |entry| part(entry, tools, zone));
    let title = one_line(document.head.title.as_deref().unwrap_or("Untitled session"));
    let (title, details) = (body(&title), body(&details(&document.head, zone)));
    let mut written = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n\
         <body>\n<header>\n<h1>{title}</h1>\n<p>{details}</p>\n</header>\n<main>\n"
    );
    if omitted > 0 || document.starts_late {
        // Writing to a string does not fail.
        let _ = writeln!(written, "<p class=\"note\">{LEFT_OUT}</p>");
    }
    written.push_str(&parts.concat());
    written.push_str("</main>\n");
    if !foot.is_empty() {
        let _ = writeln!(written, "<footer>{}</footer>", body(foot));
    }
    written.push_str("</body>\n</html>\n");
    (written, omitted)
}

fn part(entry: &Entry, tools: ToolOutput, zone: &TimeZone) -> String {
    match &entry.kind {
        EntryKind::Prompt(text) => {
            let time = entry.at.and_then(|at| time(at, zone)).unwrap_or_default();
            format!(
                "<section class=\"prompt\" id=\"l{}\"><time>{time}</time><div class=\"words\">{}</div></section>\n",
                entry.line,
                body(text.trim())
            )
        }
        EntryKind::Answer(text) => {
            format!("<section class=\"answer\" dir=\"auto\">\n{}</section>\n", message(text))
        }
        EntryKind::Thought(_) if tools == ToolOutput::None => String::new(),
        EntryKind::Thought(text) => {
            format!("<details class=\"thought\"><summary>Thoughts</summary>\n{}</details>\n", message(text))
        }
        EntryKind::Call(call) => {
            let title = body(&one_line(&call.title));
            let class = if call.error.is_some() { "call failed" } else { "call" };
            let parts = outcome::parts(call, tools);
            if parts.is_empty() {
                return format!("<p class=\"{class}\"><code>{title}</code></p>\n");
            }
            let shown: String = parts.iter().map(shown).collect();
            format!("<details class=\"{class}\"><summary><code>{title}</code></summary>\n{shown}</details>\n")
        }
    }
}

fn shown(part: &Shown) -> String {
    match part {
        Shown::Code { language: "diff", text } => {
            let lines: String = text.split_inclusive('\n').map(diff_line).collect();
            format!("<pre>{lines}</pre>\n")
        }
        Shown::Code { text, .. } => format!("<pre>{}</pre>\n", body(text)),
        Shown::Markdown(text) => message(text),
        Shown::Note(text) => format!("<p class=\"note\">{}</p>\n", body(text)),
    }
}

fn diff_line(line: &str) -> String {
    match line.chars().next() {
        Some('+') => format!("<ins>{}</ins>", body(line)),
        Some('-') => format!("<del>{}</del>", body(line)),
        _ => body(line),
    }
}

/// Returns a message as HTML. References such as `&#x202e;` are characters in it.
fn message(text: &str) -> String {
    let html = without_controls(&to_html(text, Code::Plain)).into_owned();
    match text.len() > MAX_BYTES {
        true => html + "<p class=\"note\">The rest of this message is left out: it is too long.</p>\n",
        false => html,
    }
}

/// Returns text for the body of an element.
fn body(text: &str) -> String {
    let mut written = String::with_capacity(text.len() + text.len() / 8);
    let _ = escape_html_body_text(&mut written, text);
    written
}
