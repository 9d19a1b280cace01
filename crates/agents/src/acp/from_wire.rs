//! Converts protocol types into ours, one function per type.

use crate::limits::CALL_PIECES;
use crate::output::{self, CallNews, CallStatus, Role, Shown, TerminalNews, Timeline, diff, one_line};
use agent_client_protocol_schema::v1 as wire;
use openagents_core::update::{EntryStatus, Location, ToolCallDetails, ToolContent, ToolKind};
use std::time::Instant;

pub(super) fn announced(call: wire::ToolCall) -> CallNews {
    CallNews {
        id: call.tool_call_id.to_string(),
        name: call.name,
        status: status(call.status),
        details: ToolCallDetails {
            title: one_line(&call.title),
            kind: Some(kind(call.kind)),
            raw_input: call.raw_input,
            locations: locations(call.locations),
            content: Vec::new(),
        },
        shown: (!call.content.is_empty()).then(|| shown(call.content)),
        raw_output: call.raw_output,
        terminals: terminals(call.meta.as_ref()),
    }
}

pub(super) fn news(update: wire::ToolCallUpdate) -> CallNews {
    let fields = update.fields;
    CallNews {
        id: update.tool_call_id.to_string(),
        name: fields.name,
        status: fields.status.and_then(status),
        details: ToolCallDetails {
            title: fields.title.as_deref().and_then(one_line),
            kind: fields.kind.map(kind),
            raw_input: fields.raw_input,
            locations: locations(fields.locations.unwrap_or_default()),
            content: Vec::new(),
        },
        shown: fields.content.filter(|content| !content.is_empty()).map(shown),
        raw_output: fields.raw_output,
        terminals: terminals(update.meta.as_ref()),
    }
}

/// `None` if the status doesn't change.
fn status(status: wire::ToolCallStatus) -> Option<CallStatus> {
    match status {
        wire::ToolCallStatus::InProgress => Some(CallStatus::Running),
        wire::ToolCallStatus::Completed => Some(CallStatus::Completed),
        wire::ToolCallStatus::Failed => Some(CallStatus::Failed),
        _ => None,
    }
}

/// Reads the output of commands that Codex and Claude Code run themselves, which they send in the update's `_meta`.
fn terminals(meta: Option<&wire::Meta>) -> Vec<TerminalNews> {
    let words = ["terminal_info", "terminal_output", "terminal_output_delta", "terminal_exit"];
    let news = |word: &str| {
        let said = meta?.get(word)?;
        let exit = || {
            let code = said["exit_code"].as_i64().and_then(|code| i32::try_from(code).ok());
            (code, said["signal"].as_str().map(str::to_owned))
        };
        Some(TerminalNews {
            id: said["terminal_id"].as_str()?.to_owned(),
            data: said["data"].as_str().unwrap_or_default().to_owned(),
            exit: (word == "terminal_exit").then(exit),
            shows: word != "terminal_info",
        })
    };
    words.into_iter().filter_map(news).collect()
}

fn shown(content: Vec<wire::ToolCallContent>) -> Vec<Shown> {
    let piece = |content| match content {
        wire::ToolCallContent::Content(content) => {
            text(&content.content).map(|text| Shown::Fixed(output::text(&text)))
        }
        wire::ToolCallContent::Diff(change) => {
            Some(Shown::Fixed(diff(change.path.display().to_string(), change.old_text, change.new_text)))
        }
        wire::ToolCallContent::Terminal(terminal) => Some(Shown::Terminal(terminal.terminal_id.to_string())),
        _ => None,
    };
    let mut all: Vec<_> = content.into_iter().filter_map(piece).collect();
    if all.len() > CALL_PIECES {
        let more = all.len() - CALL_PIECES;
        all.truncate(CALL_PIECES);
        all.push(Shown::Fixed(ToolContent::Text { text: format!("*{more} more are not shown.*") }));
    }
    all
}

/// The text of a block; other content is shown by its name.
fn text(block: &wire::ContentBlock) -> Option<String> {
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
    locations.into_iter().take(CALL_PIECES).map(place).collect()
}

fn kind(kind: wire::ToolKind) -> ToolKind {
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

/// Shows an update in the timeline, if the timeline displays its kind.
pub(super) fn show(timeline: &mut Timeline, now: Instant, update: wire::SessionUpdate) {
    match update {
        wire::SessionUpdate::AgentMessageChunk(chunk) => say(timeline, now, Role::Message, &chunk),
        wire::SessionUpdate::AgentThoughtChunk(chunk) => say(timeline, now, Role::Thought, &chunk),
        wire::SessionUpdate::ToolCall(call) => drop(timeline.call(now, announced(call), true)),
        wire::SessionUpdate::ToolCallUpdate(update) => drop(timeline.call(now, news(update), false)),
        wire::SessionUpdate::Plan(plan) => timeline.plan(now, steps(plan)),
        _ => {}
    }
}

/// Adds a piece of text to the timeline.
pub(super) fn say(timeline: &mut Timeline, now: Instant, role: Role, chunk: &wire::ContentChunk) {
    if let Some(text) = text(&chunk.content) {
        timeline.text(now, role, &text, chunk.message_id.as_ref().map(ToString::to_string));
    }
}

/// The steps of a plan with their statuses.
fn steps(plan: wire::Plan) -> impl Iterator<Item = (String, EntryStatus)> {
    plan.entries.into_iter().map(|entry| {
        let status = match entry.status {
            wire::PlanEntryStatus::InProgress => EntryStatus::InProgress,
            wire::PlanEntryStatus::Completed => EntryStatus::Completed,
            _ => EntryStatus::Pending,
        };
        (entry.content, status)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn pieces_that_are_not_shown_are_counted() {
        let piece = json!({"type": "content", "content": {"type": "text", "text": "x"}});
        let call = json!({"toolCallId": "1", "title": "t", "content": vec![piece; CALL_PIECES + 3]});
        let shown = announced(serde_json::from_value(call).unwrap()).shown.unwrap();
        let last = ToolContent::Text { text: "*3 more are not shown.*".to_owned() };
        assert_eq!((shown.len(), shown.last()), (CALL_PIECES + 1, Some(&Shown::Fixed(last))));
    }
}
