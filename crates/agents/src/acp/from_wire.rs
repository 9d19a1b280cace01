//! The protocol's words into ours. One function for each kind.

use super::frame::shorten;
use agent_client_protocol_schema::v1 as wire;
use openagents_core::update::{EntryStatus, Location, ToolCallDetails, ToolContent, ToolKind};
use serde_json::Value;

/// Bytes of a title.
const TITLE: usize = 300;
/// Bytes of a text that a call shows; see [`ToolContent::Text`].
const TEXT: usize = 64 << 10;
/// Bytes of each side of a change; see [`ToolContent::Diff`].
const SIDE: usize = 256 << 10;
/// Pieces and places that a call shows.
const PIECES: usize = 200;

/// One piece of what a call shows; the output of a terminal is filled in when it is told.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Shown {
    Fixed(ToolContent),
    Terminal(String),
}

/// News of a call, whichever of the two words it came with.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct CallNews {
    pub(super) id: String,
    pub(super) name: Option<String>,
    pub(super) status: Option<wire::ToolCallStatus>,
    /// Its content is in `shown`.
    pub(super) details: ToolCallDetails,
    /// `None` when nothing was said of it.
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

/// Text for people, on one line; `None` when there is none.
pub(super) fn one_line(text: &str) -> Option<String> {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    (!line.is_empty()).then(|| shorten(&line, TITLE))
}

fn shown(content: Vec<wire::ToolCallContent>) -> Vec<Shown> {
    let piece = |content| match content {
        wire::ToolCallContent::Content(content) => {
            text(&content.content).map(|text| Shown::Fixed(ToolContent::Text { text: shorten(&text, TEXT) }))
        }
        wire::ToolCallContent::Diff(diff) => Some(Shown::Fixed(ToolContent::Diff {
            path: diff.path.display().to_string(),
            old_text: diff.old_text.map(|text| shorten(&text, SIDE)),
            new_text: shorten(&diff.new_text, SIDE),
            truncated: false,
        })),
        wire::ToolCallContent::Terminal(terminal) => Some(Shown::Terminal(terminal.terminal_id.to_string())),
        _ => None,
    };
    content.into_iter().filter_map(piece).take(PIECES).collect()
}

/// Text of a block; what is no text is named.
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

/// The word of a kind, for calls whose tool is not named.
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
