//! Decodes a rollout line by line, without duplicates.

use super::record::{self, Item, Stream};
use crate::{
    history::{
        log::{
            action::Action,
            decoder::Decoder,
            event::{Event, EventKind, TitleRank, TouchedFile},
            json::Node,
            lines,
            log_file::Locate,
            title,
        },
        transcript::SessionFiles,
    },
    limits,
};
use memchr::memmem;
use openagents_core::budget::Budget;
use std::path::Path;

#[derive(Debug, Clone, Copy)]
struct Streams {
    user: Stream,
    assistant: Stream,
    thinking: Stream,
    call: Stream,
}

#[derive(Debug)]
pub(crate) struct CodexDecoder {
    /// The streams of each segment, with the byte offset at which the segment begins; empty for all streams.
    segments: Vec<(u64, Streams)>,
    streams: Option<Streams>,
    /// The session's first own line, and the ordinal of its first own record.
    own_from: u64,
    own_ordinal: u64,
    /// Web searches are also logged as calls.
    logs_searches: bool,
}

impl CodexDecoder {
    pub(crate) fn new(files: SessionFiles<'_>, locate: Locate<'_>, budget: &Budget) -> Self {
        let path = files.oldest();
        let Survey { streams, parent, own_ordinal } = survey(path, budget);
        let parent = parent.as_deref().filter(|_| own_ordinal == 0).and_then(locate);
        let own_from = parent.map_or(0, |parent| record::own_from(path, &parent, budget));
        let mut segments = vec![(0, streams)];
        if !files.earlier.is_empty() {
            // A segment may have been written by a newer version than the one before it.
            let starts = lines::open_joined(files.oldest_first()).map(|log| log.starts()).unwrap_or_default();
            let later = starts.into_iter().zip(files.oldest_first()).skip(1);
            segments.extend(later.map(|(start, path)| (start, survey(path, budget).streams)));
        }
        Self { segments, streams: Some(streams), own_from, own_ordinal, logs_searches: false }
    }

    pub(crate) fn of_single_lines() -> Self {
        Self { segments: vec![], streams: None, own_from: 0, own_ordinal: 0, logs_searches: false }
    }
}

struct Survey {
    streams: Streams,
    parent: Option<String>,
    own_ordinal: u64,
}

/// Chooses the streams of a file: events are preferred to completed items, and completed items to response items. For
/// tool calls the order is reversed, because response items contain all of them.
fn survey(path: &Path, budget: &Budget) -> Survey {
    let mut found = Streams {
        user: Stream::Response,
        assistant: Stream::Response,
        thinking: Stream::Response,
        call: Stream::Item,
    };
    let (mut parent, mut own_ordinal) = (None, 0);
    let Ok(log) = lines::open(path) else { return Survey { streams: found, parent, own_ordinal } };
    let mut lines = lines::Lines::new(log, limits::LINE, limits::CODEX_STREAMS);
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
        let text = line.text();
        let Some(node) = Node::parse_object(&text) else { continue };
        if record::is_before(&node, own_ordinal) {
            continue;
        }
        match record::item(&node) {
            Item::Meta { head, .. } if line.number == 1 => {
                parent = record::parent(head).map(str::to_owned);
                own_ordinal = record::first_own_ordinal(head);
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
        done = [
            found.user == Stream::Event,
            found.user <= Stream::Item,
            found.assistant == Stream::Event,
            found.assistant <= Stream::Item,
            found.thinking == Stream::Event,
            found.thinking <= Stream::Item,
            found.call == Stream::Response,
        ];
        if done.iter().all(|done| *done) {
            break;
        }
    }
    Survey { streams: found, parent, own_ordinal }
}

impl Decoder for CodexDecoder {
    fn line_begins(&mut self, offset: u64) {
        let current = self.segments.iter().rev().find(|(start, _)| *start <= offset);
        self.streams = current.map(|(_, streams)| *streams);
    }

    fn record(&mut self, node: &Node<'_>, number: u64) -> Option<Vec<Event>> {
        let is_of = |stream: Stream, chosen: fn(Streams) -> Stream| {
            self.streams.is_none_or(|streams| chosen(streams) == stream)
        };
        let (mut files, mut action) = (Vec::new(), Action::default());
        self.logs_searches |= record::is_search_call(node);
        let (kind, text) = match record::item(node) {
            Item::User { stream, blocks, images } if is_of(stream, |streams| streams.user) => {
                let image = || if images { title::IMAGE_ONLY.to_owned() } else { String::new() };
                (EventKind::Prompt, title::prompt(blocks).unwrap_or_else(image))
            }
            Item::Assistant { stream, text } if is_of(stream, |streams| streams.assistant) => {
                (EventKind::Assistant, text)
            }
            Item::Thinking { stream, text } if is_of(stream, |streams| streams.thinking) => {
                (EventKind::Thinking, text)
            }
            Item::Call { stream, name, text, files: touched, action: called }
                if is_of(stream, |streams| streams.call) =>
            {
                (files, action) = (touched, called);
                (EventKind::ToolCall { name: name.to_owned() }, text)
            }
            Item::Extension { name, text, action: called } if !self.logs_searches => {
                action = called;
                (EventKind::ToolCall { name: name.to_owned() }, text)
            }
            // Completed items include every command, even those inside a script of one response item.
            Item::Call { action: ended, .. } | Item::CommandEnd(ended)
                if ended.outcome.is_some() || ended.child_session.is_some() =>
            {
                action = ended;
                (EventKind::CommandEnd, String::new())
            }
            Item::Output { text, action: ended } => {
                action = ended;
                (EventKind::ToolResult, text)
            }
            Item::Files(changed) => {
                let text = changed.join("\n");
                files = changed;
                (EventKind::FileChange, text)
            }
            Item::Name(name) => (EventKind::Title(TitleRank::User), name.to_owned()),
            Item::Compaction(summary) => (EventKind::Compaction, summary.to_owned()),
            _ => return Some(Vec::new()),
        };
        let may_be_empty =
            matches!(kind, EventKind::ToolCall { .. } | EventKind::CommandEnd | EventKind::Compaction);
        if text.is_empty() && !may_be_empty {
            return Some(Vec::new());
        }
        Some(vec![Event {
            line: number,
            timestamp: record::timestamp(node),
            kind,
            text,
            files: files.into_iter().map(|path| TouchedFile { path, edited: true }).collect(),
            action,
            sidechain: false,
            undone: false,
            copied: number < self.own_from || record::is_before(node, self.own_ordinal),
            origin: None,
        }])
    }
}
