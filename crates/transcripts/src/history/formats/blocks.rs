//! Messages made of content blocks, as in Anthropic's API and in the formats of the agents that follow it.

use super::calls::FileTools;
use crate::history::{
    event::{Event, EventKind},
    json::Node,
    title,
};

/// Returns the texts of a message; a plain text is one block.
pub(super) fn texts<'a>(content: Option<&'a Node<'a>>) -> Vec<&'a str> {
    let Some(content) = content else { return vec![] };
    let blocks = content.items().iter().filter(|block| block.text("type") == Some("text"));
    content.as_str().into_iter().chain(blocks.filter_map(|block| block.text("text"))).collect()
}

/// Returns what the user typed in a message, given its texts; a placeholder if there are only images.
pub(super) fn prompt<'a>(
    texts: impl IntoIterator<Item = &'a str>,
    content: Option<&Node<'_>>,
) -> Option<String> {
    let is_image = |block: &Node<'_>| block.text("type") == Some("image");
    let only_image = || content.is_some_and(|content| content.items().iter().any(is_image));
    title::prompt(texts).or_else(|| only_image().then(|| title::IMAGE_ONLY.to_owned()))
}

/// Returns the events of an agent's message: its texts, thoughts and calls in order.
pub(super) fn answer(
    tools: &FileTools,
    line: u64,
    at: Option<i64>,
    content: Option<&Node<'_>>,
) -> Vec<Event> {
    let Some(content) = content else { return vec![] };
    let plain = said(line, at, EventKind::Assistant, content.as_str());
    let blocks = content.items().iter().filter_map(|block| part(tools, line, at, block));
    plain.into_iter().chain(blocks).collect()
}

/// Returns the event of a block of an agent's message.
pub(super) fn part(tools: &FileTools, line: u64, at: Option<i64>, block: &Node<'_>) -> Option<Event> {
    match block.text("type")? {
        "text" => said(line, at, EventKind::Assistant, block.text("text")),
        "thinking" => said(line, at, EventKind::Thinking, block.text("thinking")),
        "tool_use" | "toolCall" => {
            let input = block.get("input").or(block.get("arguments"));
            Some(tools.call(line, at, block.text("id"), block.text("name").unwrap_or("tool"), input))
        }
        _ => None,
    }
}

fn said(line: u64, at: Option<i64>, kind: EventKind, text: Option<&str>) -> Option<Event> {
    let text = text.filter(|text| !text.trim().is_empty())?;
    Some(Event::new(line, at, kind, text))
}
