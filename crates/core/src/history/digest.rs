//! Boils one transcript down to what an analysis needs.

use super::{
    Event, EventKind, Facts, History, Transcript,
    lines::{self, OpenLog},
    read::Span,
    title,
};
use crate::budget::Budget;
use regex::bytes::Regex;
use std::{
    collections::BTreeMap,
    io::{self, Read, Seek, SeekFrom},
    ops::ControlFlow,
};

/// Read of each transcript: the first prompt is at its start, the titles and the latest work at its end; in bytes.
const HEAD_BYTES: u64 = 2 << 20;
const TAIL_BYTES: u64 = 1 << 20;
/// More of the tail is looked through than is read, so that no line is missed where the two parts of a log meet; in bytes.
const LINE_OVERLAP: u64 = 1 << 20;
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
    /// The same files, commands, messages and tasks, each with its line.
    pub(crate) facts: Facts,
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
    /// Boils a transcript down, its given title included, which is a second look at the log.
    pub(crate) fn digest(&self, transcript: &Transcript, budget: &Budget) -> io::Result<Digest> {
        let mut digest = self.digest_untitled(transcript, budget)?;
        digest.title = self.given_title(transcript, budget);
        Ok(digest)
    }

    /// Boils a transcript down without looking for its title.
    pub(crate) fn digest_untitled(&self, transcript: &Transcript, budget: &Budget) -> io::Result<Digest> {
        let mut digest = Digest {
            title: None,
            prompts: vec![],
            calls: vec![],
            files: BTreeMap::new(),
            facts: Facts::default(),
            events: 0,
            omitted: 0,
            partial: false,
        };
        let span = Span { bytes: HEAD_BYTES, tail_bytes: TAIL_BYTES, ..Span::default() };
        let end = self.read(transcript, span, budget, &mut |event| {
            digest.add(event, transcript.subagent);
            ControlFlow::Continue(())
        })?;
        digest.omitted = end.bad_lines + end.long_lines;
        digest.partial = end.capped || end.stopped;
        Ok(digest)
    }

    /// Returns false only when no raw line that a digest of this transcript reads can match. This takes a tenth of the
    /// time of a digest.
    pub(crate) fn may_hold(&self, transcript: &Transcript, pattern: &Regex) -> bool {
        // What is compressed costs more to unpack than to look through.
        let Ok(OpenLog::Plain(mut log)) = lines::open(&transcript.file_path) else { return true };
        let mut bytes = Vec::new();
        let mut matches = |from: SeekFrom, most: u64| {
            bytes.clear();
            log.seek(from)?;
            log.by_ref().take(most).read_to_end(&mut bytes)?;
            io::Result::Ok((pattern.is_match(&bytes), bytes.len() as u64))
        };
        match matches(SeekFrom::Start(0), HEAD_BYTES) {
            Ok((false, read)) if read < HEAD_BYTES => false,
            Ok((false, _)) => {
                // A line may begin in the one part and end in the other.
                let tail = i64::try_from(TAIL_BYTES + LINE_OVERLAP).unwrap_or(i64::MAX);
                matches(SeekFrom::End(-tail), u64::MAX).map_or(true, |(found, _)| found)
            }
            _ => true,
        }
    }
}

impl Digest {
    fn add(&mut self, event: Event, of_subagent: bool) {
        if event.copied {
            return;
        }
        self.facts.add(&event);
        for file in event.files {
            *self.files.entry(file.path).or_default() |= file.edited;
        }
        match event.kind {
            // Which of them is the title is for the list to say: see `given_title`.
            EventKind::Title(_) | EventKind::CommandEnd => return,
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
