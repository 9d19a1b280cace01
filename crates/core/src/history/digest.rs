//! Reduces a transcript to the data for an analysis.

use super::{
    event::{Event, EventKind},
    facts::{Fact, Facts},
    lines::{self, OpenLog},
    logs::History,
    read::Span,
    title,
    transcript::Transcript,
};
use crate::budget::Budget;
use regex::bytes::Regex;
use std::{
    collections::BTreeMap,
    io::{self, Read, Seek, SeekFrom},
    ops::ControlFlow,
};

/// Bytes read at the start, for the first prompt, and at the end, for titles and recent work.
const HEAD_BYTES: u64 = 2 << 20;
const TAIL_BYTES: u64 = 1 << 20;
/// Overlap of the searched tail and the read one in bytes, so that no line is missed between the parts.
const LINE_OVERLAP: i64 = 1 << 20;
/// Maximum length of a prompt in bytes.
const PROMPT_BYTES: usize = 4 << 10;
/// Maximum number of prompts per transcript: the first and the latest ones.
const PROMPTS: usize = 200;

/// The data of one transcript for an analysis.
#[derive(Debug, Default)]
pub(crate) struct Digest {
    /// Title given by the agent or a person.
    pub(crate) title: Option<String>,
    /// Prompts of the person in order: the first one, and the latest ones.
    pub(crate) prompts: Vec<Fact<String>>,
    /// Tool calls: origin hash of the line, and tool name.
    pub(crate) calls: Vec<(Option<u64>, String)>,
    /// Touched files by logged path, and whether they were changed.
    pub(crate) files: BTreeMap<String, bool>,
    pub(crate) facts: Facts,
    pub(crate) events: u64,
    /// Number of unreadable lines.
    pub(crate) omitted: u64,
    /// The log was not read completely.
    pub(crate) partial: bool,
}

impl History {
    /// Reduces a transcript, including its title, which needs a second pass over the log.
    pub(crate) fn digest(&self, transcript: &Transcript, budget: &Budget) -> io::Result<Digest> {
        let mut digest = self.digest_untitled(transcript, budget)?;
        digest.title = self.given_title(transcript, budget);
        Ok(digest)
    }

    /// Reduces a transcript without its title.
    pub(crate) fn digest_untitled(&self, transcript: &Transcript, budget: &Budget) -> io::Result<Digest> {
        let mut digest = Digest::default();
        let span = Span { bytes: HEAD_BYTES, tail_bytes: TAIL_BYTES, ..Span::default() };
        let end = self.read(transcript, span, budget, &mut |event| {
            digest.add(event, transcript.subagent);
            ControlFlow::Continue(())
        })?;
        digest.omitted = end.bad_lines + end.long_lines;
        digest.partial = end.capped || end.stopped;
        Ok(digest)
    }

    /// Returns false only if no raw line in the digested parts can match. Takes a tenth of the time of a digest.
    pub(crate) fn may_hold(&self, transcript: &Transcript, pattern: &Regex) -> bool {
        // Decompressing a log costs more than searching it.
        let Ok(OpenLog::Plain(mut log)) = lines::open(&transcript.file_path) else { return true };
        let mut bytes = Vec::new();
        let mut search = || {
            log.by_ref().take(HEAD_BYTES).read_to_end(&mut bytes)?;
            let mut found = pattern.is_match(&bytes);
            if !found && bytes.len() as u64 == HEAD_BYTES {
                bytes.clear();
                log.seek(SeekFrom::End(-(TAIL_BYTES as i64 + LINE_OVERLAP)))?;
                log.read_to_end(&mut bytes)?;
                found = pattern.is_match(&bytes);
            }
            io::Result::Ok(found)
        };
        search().unwrap_or(true)
    }
}

impl Digest {
    fn add(&mut self, event: Event, of_subagent: bool) {
        if event.copied {
            return;
        }
        self.facts.add(&event);
        for file in &event.files {
            *self.files.entry(file.path.clone()).or_default() |= file.edited;
        }
        match &event.kind {
            // The list's rules choose the title: see `given_title`.
            EventKind::Title(_) | EventKind::CommandEnd => return,
            EventKind::Prompt if event.text == title::IMAGE_ONLY => {}
            EventKind::Prompt if of_subagent || !event.sidechain => {
                if self.prompts.len() == PROMPTS {
                    self.prompts.remove(1);
                }
                let end = event.text.floor_char_boundary(PROMPT_BYTES);
                self.prompts.push(Fact::new(&event, event.text[..end].to_owned()));
            }
            EventKind::ToolCall { name } => self.calls.push((event.origin, name.clone())),
            _ => {}
        }
        self.events += 1;
    }
}
