//! What the lines of a transcript have in common.

use super::super::json::Node;
use xxhash_rust::xxh32::xxh32;

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

/// Hashes the id of a line. Two 32-bit hashes are enough to tell the lines of one machine apart.
pub(super) fn hash(uuid: &str) -> u64 {
    u64::from(xxh32(uuid.as_bytes(), 0)) << 32 | u64::from(xxh32(uuid.as_bytes(), 1))
}
