//! What the lines of a transcript have in common.

use super::super::json::Node;

/// Returns the text blocks of a message; a plain text is one block.
pub(super) fn texts<'a>(line: &'a Node<'a>) -> Vec<&'a str> {
    match line.get("message").and_then(|message| message.get("content")) {
        Some(Node::Text(text)) => vec![text.as_ref()],
        Some(Node::List(blocks)) => blocks
            .iter()
            .filter(|block| block.text("type") == Some("text"))
            .filter_map(|block| block.text("text"))
            .collect(),
        _ => vec![],
    }
}

/// Returns the blocks of a message; a plain text has none.
pub(super) fn blocks<'a>(line: &'a Node<'a>) -> &'a [Node<'a>] {
    line.get("message").and_then(|message| message.get("content")).map_or(&[], |content| content.items())
}

/// Returns whether a `user` line may hold what a person typed: no tool's result, nothing that Claude Code wrote.
pub(super) fn is_persons(line: &Node<'_>) -> bool {
    let written_by_agent = ["isMeta", "isCompactSummary", "isVisibleInTranscriptOnly"];
    !written_by_agent.iter().any(|flag| line.flag(flag))
        && !blocks(line).iter().any(|block| block.text("type") == Some("tool_result"))
}
