//! Boils one transcript down to what an analysis needs.

use super::{Event, EventKind, History, Transcript, read::Span, title};
use crate::budget::Budget;
use std::{collections::BTreeMap, io, ops::ControlFlow};

/// Read of each transcript: the first prompt is at its start, the titles and the latest work at its end; in bytes.
const HEAD_BYTES: u64 = 2 << 20;
const TAIL_BYTES: u64 = 1 << 20;
/// Kept of a prompt; a sentence is far shorter.
const PROMPT_BYTES: usize = 4 << 10;
/// Prompts kept of one transcript, the first and the latest; more would never be shown.
const PROMPTS: usize = 200;

/// What an analysis keeps of one transcript.
#[derive(Debug)]
pub(crate) struct Digest {
    /// The title that the agent or a person gave, as lists show it.
    pub(crate) title: Option<String>,
    /// What a person typed, in order: the first, which says what it is about, and the latest.
    pub(crate) prompts: Vec<Prompt>,
    /// Each tool call: the line it came from and its name.
    pub(crate) calls: Vec<(Option<u64>, String)>,
    /// Files by path as recorded, and whether they were changed.
    pub(crate) files: BTreeMap<String, bool>,
    /// All events.
    pub(crate) events: u64,
    /// Lines that could not be read.
    pub(crate) omitted: u64,
    /// Not all of it was read.
    pub(crate) partial: bool,
}

/// One prompt.
#[derive(Debug)]
pub(crate) struct Prompt {
    /// From 1; 0 when it is not known.
    pub(crate) line: u64,
    /// Milliseconds since the epoch.
    pub(crate) at: Option<i64>,
    /// As typed.
    pub(crate) text: String,
    /// See [`Event::origin`].
    pub(crate) origin: Option<u64>,
}

impl History {
    pub(crate) fn digest(&self, transcript: &Transcript, budget: &Budget) -> io::Result<Digest> {
        let mut digest = Digest {
            title: None,
            prompts: vec![],
            calls: vec![],
            files: BTreeMap::new(),
            events: 0,
            omitted: 0,
            partial: false,
        };
        let span = Span { bytes: HEAD_BYTES, tail_bytes: TAIL_BYTES, ..Span::default() };
        let end = self.read(transcript, span, budget, &mut |event| {
            digest.add(event, transcript.subagent);
            ControlFlow::Continue(())
        })?;
        digest.title = self.given_title(transcript, budget);
        digest.omitted = end.bad_lines + end.long_lines;
        digest.partial = end.capped || end.stopped;
        Ok(digest)
    }
}

impl Digest {
    fn add(&mut self, event: Event, of_subagent: bool) {
        if event.copied {
            return;
        }
        for file in event.files {
            *self.files.entry(file.path).or_default() |= file.edited;
        }
        match event.kind {
            // Which of them is the title is for the list to say: see `given_title`.
            EventKind::Title(_) => return,
            EventKind::Prompt if event.text == title::IMAGE_ONLY => {}
            EventKind::Prompt if of_subagent || !event.sidechain => {
                let mut text = event.text;
                text.truncate(text.floor_char_boundary(PROMPT_BYTES));
                if self.prompts.len() == PROMPTS {
                    self.prompts.remove(1);
                }
                let (line, at, origin) = (event.line, event.timestamp, event.origin);
                self.prompts.push(Prompt { line, at, text, origin });
            }
            EventKind::ToolCall { name } => self.calls.push((event.origin, name)),
            _ => {}
        }
        self.events += 1;
    }
}
