//! Decodes one message, or a part of one.

use super::super::{
    blocks,
    calls::{self, FileTools},
};
use crate::history::{
    decoder::{Decoder, SessionFacts},
    event::{Event, EventKind},
    json::Node,
    noise, title,
};
use std::path::PathBuf;

const TOOLS: FileTools =
    FileTools { reads: &["Read"], edits: &["StrReplace", "Write", "ApplyPatch", "Delete", "MultiEdit"] };

/// Replaces an image.
const IMAGE: &str = "[Image]";
/// Replaces a thought.
const REDACTED: &str = "[REDACTED]";

pub(super) struct CursorDecoder {
    facts: SessionFacts,
}

impl CursorDecoder {
    pub(super) fn new(cwd: Option<PathBuf>) -> Self {
        Self { facts: SessionFacts { cwd, ..SessionFacts::default() } }
    }
}

impl Decoder for CursorDecoder {
    fn record(&mut self, node: &Node<'_>, number: u64) -> Option<Vec<Event>> {
        let content = node.get("message").and_then(|message| message.get("content"));
        let mut events = match node.text("role") {
            Some("user") => prompt(content)
                .map(|text| Event::new(number, None, EventKind::Prompt, text))
                .into_iter()
                .collect(),
            Some("assistant") => {
                blocks::answer(&TOOLS, number, None, content).into_iter().filter_map(said).collect()
            }
            _ => vec![],
        };
        let blocks = content.map_or(&[][..], Node::items).iter();
        for block in blocks.filter(|block| block.text("type") == Some("tool_result")) {
            let text = block.get("content").map(Node::flattened).unwrap_or_default();
            events.push(calls::ended(number, None, block.text("tool_use_id"), text, None));
        }
        Some(events)
    }

    fn facts(&self) -> SessionFacts {
        self.facts.clone()
    }
}

fn prompt(content: Option<&Node<'_>>) -> Option<String> {
    let texts = blocks::texts(content);
    let typed = blocks::prompt(texts.iter().flat_map(|text| typed(text)), content);
    let is_image = |text: &&str| text.contains(IMAGE) || text.contains("<image_files>");
    typed.or_else(|| texts.iter().any(is_image).then(|| title::IMAGE_ONLY.to_owned()))
}

/// Returns the queries in a text, or all of it if there are none, without the text that Cursor puts before them.
fn typed(text: &str) -> Vec<&str> {
    let text = without_images(text);
    let queries = text.split("<user_query>").skip(1);
    let queries: Vec<&str> = queries
        .map(|query| without_images(query.split_once("</user_query>").map_or(query, |(query, _)| query)))
        .collect();
    if queries.is_empty() { vec![text] } else { queries }
}

fn without_images(text: &str) -> &str {
    let mut rest = noise::strip(text);
    while let Some(after) = rest.strip_prefix(IMAGE) {
        rest = noise::strip(after);
    }
    rest
}

/// Returns an event of an answer. Thoughts appear among the texts, below a bold heading or redacted.
fn said(event: Event) -> Option<Event> {
    if event.kind != EventKind::Assistant {
        return Some(event);
    }
    let text = event.text.trim().trim_end_matches(REDACTED).trim_end();
    let heading = text.lines().next()?;
    let is_thought = heading.len() > 4 && heading.starts_with("**") && heading.trim_end().ends_with("**");
    let kind = if is_thought { EventKind::Thinking } else { EventKind::Assistant };
    Some(Event { kind, text: text.to_owned(), ..event })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts() {
        let rows = [
            ("<user_query>\nfix the chart\n</user_query>", Some("fix the chart")),
            (
                "<attached_files>\n<code_selection>\n<user_query>\nno\n</user_query>\n</code_selection>\n</attached_files>\n\
                 <user_query>\nfix it\n</user_query>",
                Some("fix it"),
            ),
            (
                "<timestamp>Friday</timestamp>\n<user_query>a</user_query>\n<user_query>b</user_query>",
                Some("a\nb"),
            ),
            (
                "[Image]\n<image_files>\n1. /x.png\n</image_files>\n<user_query>\nlike this\n</user_query>",
                Some("like this"),
            ),
            ("[Image]\n<user_query>\n[Image]\n</user_query>", Some("[Image]")),
            ("<image_files>\n1. /x.png\n</image_files>\n<user_query>\n</user_query>", Some("[Image]")),
            ("plain words", Some("plain words")),
            ("<attached_files>\nx\n</attached_files>", None),
        ];
        for (text, expected) in rows {
            assert_eq!(prompt(Some(&Node::Text(text.into()))).as_deref(), expected, "{text}");
        }
    }
}
