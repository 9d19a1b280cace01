//! Decodes a rollout line by line, without duplicates.

use super::{
    super::{
        action::Action,
        event::{Decoded, Event, EventKind, TitleRank, TouchedFile},
        json::Node,
        lines,
        source::{Decoder, Locate},
        title,
    },
    fork,
    record::{self, Item, Stream},
};
use crate::budget::Budget;
use memchr::memmem;
use std::path::Path;

/// Maximum number of bytes examined to choose the streams.
const MAX_BYTES: u64 = 4 << 20;
const MAX_LINE: usize = 1 << 20;

/// The chosen streams of a file.
#[derive(Debug, Clone, Copy)]
struct Streams {
    user: Stream,
    assistant: Stream,
    thinking: Stream,
    call: Stream,
}

#[derive(Debug)]
pub(super) struct CodexDecoder {
    streams: Streams,
    own_from: u64,
}

impl CodexDecoder {
    pub(super) fn new(path: &Path, locate: Locate<'_>, budget: &Budget) -> Self {
        let (streams, parent) = survey(path, budget);
        let parent = parent.as_deref().and_then(locate);
        let own_from = parent.map_or(0, |parent| fork::own_from(path, &parent, budget));
        Self { streams, own_from }
    }
}

/// Chooses the streams of a file: events are preferred to completed items, and those to response items. For tool calls
/// the order is reversed, because response items contain all of them.
fn survey(path: &Path, budget: &Budget) -> (Streams, Option<String>) {
    let mut found = Streams {
        user: Stream::Response,
        assistant: Stream::Response,
        thinking: Stream::Response,
        call: Stream::Item,
    };
    let mut parent = None;
    let Ok(log) = lines::open(path) else { return (found, parent) };
    let mut lines = lines::Lines::new(log, MAX_LINE, MAX_BYTES);
    let needles = [
        &b"\"user_message\""[..],
        b"\"UserMessage\"",
        b"\"agent_message\"",
        b"\"AgentMessage\"",
        b"\"agent_reasoning\"",
        b"\"Reasoning\"",
        b"_call\"",
    ]
    .map(memmem::Finder::new);
    let mut done = [false; 7];
    while let Ok(Some(line)) = lines.next(budget) {
        let relevant =
            needles.iter().zip(&done).any(|(needle, done)| !done && needle.find(line.bytes).is_some());
        if !relevant && line.number > 1 {
            continue;
        }
        let Some(node) = Node::parse_object(line.bytes) else { continue };
        match record::item(&node) {
            Item::Meta { head, .. } if line.number == 1 => {
                let spawn = head.get("source").and_then(|source| source.get("subagent"));
                let spawn = spawn.and_then(|spawn| spawn.get("thread_spawn"));
                let spawn = spawn.and_then(|spawn| spawn.text("parent_thread_id"));
                let named = head.text("forked_from_id").or(head.text("parent_thread_id")).or(spawn);
                parent = named.map(str::to_owned);
            }
            Item::User { stream, blocks, images }
                if images || title::prompt(blocks.iter().copied()).is_some() =>
            {
                found.user = found.user.min(stream);
            }
            Item::Assistant { stream, .. } => found.assistant = found.assistant.min(stream),
            Item::Thinking { stream, .. } => found.thinking = found.thinking.min(stream),
            Item::Call { stream, .. } => found.call = found.call.max(stream),
            _ => {}
        }
        let (user, assistant) = (found.user, found.assistant);
        done = [
            user == Stream::Event,
            user <= Stream::Item,
            assistant == Stream::Event,
            assistant <= Stream::Item,
            found.thinking == Stream::Event,
            found.thinking <= Stream::Item,
            found.call == Stream::Response,
        ];
        if done.iter().all(|done| *done) {
            break;
        }
    }
    (found, parent)
}

impl Decoder for CodexDecoder {
    fn line(&mut self, bytes: &[u8], number: u64, events: &mut Vec<Event>) -> Decoded {
        let Some(node) = Node::parse_object(bytes) else { return Decoded::Bad };
        let streams = self.streams;
        let mut touched = Vec::new();
        let mut acted = Action::default();
        let (kind, text) = match record::item(&node) {
            Item::User { stream, blocks, images } if stream == streams.user => {
                let text = title::prompt(blocks);
                match text.or_else(|| images.then(|| title::IMAGE_ONLY.to_owned())) {
                    Some(text) => (EventKind::Prompt, text),
                    None => return Decoded::Good,
                }
            }
            Item::Assistant { stream, text } if stream == streams.assistant => (EventKind::Assistant, text),
            Item::Thinking { stream, text } if stream == streams.thinking => (EventKind::Thinking, text),
            Item::Call { stream, name, text, files, action } if stream == streams.call => {
                (touched, acted) = (files, action);
                (EventKind::ToolCall { name: name.to_owned() }, text)
            }
            // Completed items include every command, even those inside a script of one response item.
            Item::Call { action, .. } | Item::CommandEnd(action) if action.outcome.is_some() => {
                acted = action;
                (EventKind::CommandEnd, String::new())
            }
            Item::Output { text, action } => {
                acted = action;
                (EventKind::ToolResult, text)
            }
            Item::Files(files) => {
                let text = files.join("\n");
                touched = files;
                (EventKind::FileChange, text)
            }
            Item::Name(name) => (EventKind::Title(TitleRank::Person), name.to_owned()),
            _ => return Decoded::Good,
        };
        if text.is_empty() && !matches!(kind, EventKind::ToolCall { .. } | EventKind::CommandEnd) {
            return Decoded::Good;
        }
        events.push(Event {
            line: number,
            timestamp: record::timestamp(&node),
            kind,
            text,
            files: touched.into_iter().map(|path| TouchedFile { path, edited: true }).collect(),
            action: acted,
            sidechain: false,
            copied: number < self.own_from,
            origin: None,
        });
        Decoded::Good
    }
}
