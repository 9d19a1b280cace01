//! Converts protocol types into ours, one function per type.

use super::frame::shorten;
use agent_client_protocol_schema::v1 as wire;
use openagents_core::update::{EntryStatus, Location, ToolCallDetails, ToolContent, ToolKind};
use serde_json::Value;

/// Maximum bytes of a title.
const TITLE: usize = 300;
/// Maximum bytes of a text shown by a call; see [`ToolContent::Text`].
const TEXT: usize = 64 << 10;
/// Maximum bytes of each side of a diff; see [`ToolContent::Diff`].
const SIDE: usize = 256 << 10;
/// Content pieces and locations shown by a call.
const PIECES: usize = 200;

/// A content piece of a call; the output of a terminal is filled in when it is sent.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Shown {
    Fixed(ToolContent),
    Terminal(String),
}

/// A `tool_call` or `tool_call_update`.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct CallNews {
    pub(super) id: String,
    pub(super) name: Option<String>,
    pub(super) status: Option<wire::ToolCallStatus>,
    /// Without content, which is in `shown`.
    pub(super) details: ToolCallDetails,
    /// `None` if unchanged.
    pub(super) shown: Option<Vec<Shown>>,
    pub(super) raw_output: Option<Value>,
    pub(super) meta: Option<wire::Meta>,
}

pub(super) fn announced(call: wire::ToolCall) -> CallNews {
    CallNews {
        id: call.tool_call_id.to_string(),
        name: call.name,
        status: Some(call.status),
        details: ToolCallDetails {
            title: one_line(&call.title),
            kind: Some(kind(call.kind)),
            raw_input: call.raw_input,
            locations: locations(call.locations),
            content: Vec::new(),
        },
        shown: (!call.content.is_empty()).then(|| shown(call.content)),
        raw_output: call.raw_output,
        meta: call.meta,
    }
}

pub(super) fn news(update: wire::ToolCallUpdate) -> CallNews {
    let fields = update.fields;
    CallNews {
        id: update.tool_call_id.to_string(),
        name: fields.name,
        status: fields.status,
        details: ToolCallDetails {
            title: fields.title.as_deref().and_then(one_line),
            kind: fields.kind.map(kind),
            raw_input: fields.raw_input,
            locations: locations(fields.locations.unwrap_or_default()),
            content: Vec::new(),
        },
        shown: fields.content.filter(|content| !content.is_empty()).map(shown),
        raw_output: fields.raw_output,
        meta: update.meta,
    }
}

/// Display text on one line; `None` if empty.
pub(super) fn one_line(text: &str) -> Option<String> {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    (!line.is_empty()).then(|| shorten(&line, TITLE))
}

fn shown(content: Vec<wire::ToolCallContent>) -> Vec<Shown> {
    let piece = |content| match content {
        wire::ToolCallContent::Content(content) => {
            text(&content.content).map(|text| Shown::Fixed(ToolContent::Text { text: shorten(&text, TEXT) }))
        }
        wire::ToolCallContent::Diff(diff) => {
            let path = diff.path.display().to_string();
            Some(Shown::Fixed(change(path, diff.old_text, diff.new_text)))
        }
        wire::ToolCallContent::Terminal(terminal) => Some(Shown::Terminal(terminal.terminal_id.to_string())),
        _ => None,
    };
    let mut all: Vec<_> = content.into_iter().filter_map(piece).collect();
    if all.len() > PIECES {
        let more = all.len() - PIECES;
        all.truncate(PIECES);
        all.push(Shown::Fixed(ToolContent::Text { text: format!("*{more} more are not shown.*") }));
    }
    all
}

/// A diff, truncated if it is long: common lines at both ends are dropped first, so that the changed part is kept.
fn change(path: String, old_text: Option<String>, new_text: String) -> ToolContent {
    let old = old_text.as_deref().unwrap_or_default();
    let truncated = old.len() > SIDE || new_text.len() > SIDE;
    if !truncated {
        return ToolContent::Diff { path, old_text, new_text, truncated };
    }
    let (old, new) = without_common_lines(old, &new_text);
    let (old, new_text) = (shorten(old, SIDE), shorten(new, SIDE));
    ToolContent::Diff { path, old_text: old_text.map(|_| old), new_text, truncated }
}

/// Drops the lines that both texts begin and end with.
fn without_common_lines<'a>(old: &'a str, new: &'a str) -> (&'a str, &'a str) {
    let same = |(old, new): &(&str, &str)| old == new;
    let pairs = old.split_inclusive('\n').zip(new.split_inclusive('\n'));
    let start: usize = pairs.take_while(same).map(|(line, _)| line.len()).sum();
    let (old, new) = (&old[start..], &new[start..]);
    let pairs = old.split_inclusive('\n').rev().zip(new.split_inclusive('\n').rev());
    let end: usize = pairs.take_while(same).map(|(line, _)| line.len()).sum();
    (&old[..old.len() - end], &new[..new.len() - end])
}

/// The text of a block; other content is named.
pub(super) fn text(block: &wire::ContentBlock) -> Option<String> {
    match block {
        wire::ContentBlock::Text(text) => Some(text.text.clone()),
        wire::ContentBlock::ResourceLink(link) => Some(format!("[{}]({})", link.name, link.uri)),
        wire::ContentBlock::Resource(resource) => match &resource.resource {
            wire::EmbeddedResourceResource::TextResourceContents(resource) => Some(resource.text.clone()),
            wire::EmbeddedResourceResource::BlobResourceContents(blob) => Some(format!("[{}]", blob.uri)),
            _ => None,
        },
        wire::ContentBlock::Image(image) => Some(format!("[image, {}]", image.mime_type)),
        wire::ContentBlock::Audio(audio) => Some(format!("[audio, {}]", audio.mime_type)),
        _ => None,
    }
}

fn locations(locations: Vec<wire::ToolCallLocation>) -> Vec<Location> {
    let place = |location: wire::ToolCallLocation| Location {
        path: location.path.display().to_string(),
        line: location.line,
    };
    locations.into_iter().take(PIECES).map(place).collect()
}

pub(super) fn kind(kind: wire::ToolKind) -> ToolKind {
    match kind {
        wire::ToolKind::Read => ToolKind::Read,
        wire::ToolKind::Edit => ToolKind::Edit,
        wire::ToolKind::Delete => ToolKind::Delete,
        wire::ToolKind::Move => ToolKind::Move,
        wire::ToolKind::Search => ToolKind::Search,
        wire::ToolKind::Execute => ToolKind::Execute,
        wire::ToolKind::Think => ToolKind::Think,
        wire::ToolKind::Fetch => ToolKind::Fetch,
        wire::ToolKind::SwitchMode => ToolKind::SwitchMode,
        _ => ToolKind::Other,
    }
}

/// The word for a kind, for calls that don't name their tool.
pub(super) fn kind_word(kind: ToolKind) -> &'static str {
    match kind {
        ToolKind::Read => "read",
        ToolKind::Edit => "edit",
        ToolKind::Delete => "delete",
        ToolKind::Move => "move",
        ToolKind::Search => "search",
        ToolKind::Execute => "execute",
        ToolKind::Think => "think",
        ToolKind::Fetch => "fetch",
        ToolKind::SwitchMode => "switch_mode",
        ToolKind::Other => "other",
    }
}

pub(super) fn entry_status(status: &wire::PlanEntryStatus) -> EntryStatus {
    match status {
        wire::PlanEntryStatus::InProgress => EntryStatus::InProgress,
        wire::PlanEntryStatus::Completed => EntryStatus::Completed,
        _ => EntryStatus::Pending,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_long_file_shows_its_change_and_not_its_beginning() {
        let same = "the same line\n".repeat(SIDE / 10);
        let (old, new) = (format!("{same}old\n{same}"), format!("{same}new\n{same}"));
        let rows = [
            (Some(old), new.clone(), Some("old\n"), "new\n", true),
            (Some("a\nb\n".to_owned()), "a\nc\n".to_owned(), Some("a\nb\n"), "a\nc\n", false),
            (Some(same.clone()), same.clone(), Some(""), "", true),
            (Some(same.clone()), format!("{same}end"), Some(""), "end", true),
        ];
        for (old, new, old_shown, new_shown, cut) in rows {
            let ToolContent::Diff { old_text, new_text, truncated, .. } = change("a".to_owned(), old, new)
            else {
                panic!("a change is a change");
            };
            assert_eq!((old_text.as_deref(), new_text.as_str(), truncated), (old_shown, new_shown, cut));
        }
        let ToolContent::Diff { old_text: None, new_text, truncated: true, .. } =
            change("a".to_owned(), None, new)
        else {
            panic!("a new file has no old text");
        };
        assert_eq!(new_text.len(), SIDE + "…".len());
    }

    #[test]
    fn pieces_that_are_not_shown_are_counted() {
        let piece = json!({"type": "content", "content": {"type": "text", "text": "x"}});
        let call = json!({"toolCallId": "1", "title": "t", "content": vec![piece; PIECES + 3]});
        let shown = announced(serde_json::from_value(call).unwrap()).shown.unwrap();
        let last = ToolContent::Text { text: "*3 more are not shown.*".to_owned() };
        assert_eq!((shown.len(), shown.last()), (PIECES + 1, Some(&Shown::Fixed(last))));
    }
}
