//! Reduces a transcript to the data for an analysis.

use super::{
    event::{Event, EventKind},
    facts::{Fact, Facts},
    lines::OpenLog,
    logs::History,
    read::Span,
    title,
    transcript::Transcript,
};
use crate::limits;
use openagents_core::budget::Budget;
use regex::bytes::Regex;
use std::{
    collections::BTreeMap,
    io::{self, Read, Seek, SeekFrom},
    ops::ControlFlow,
};

/// The data of one transcript for an analysis.
#[derive(Debug, Default)]
pub struct Digest {
    /// Title given by the agent or the user.
    pub title: Option<String>,
    /// Prompts of the user in order: the first one, and the latest ones.
    pub prompts: Vec<Fact<String>>,
    /// Tool calls: origin hash of the line, and tool name.
    pub calls: Vec<(Option<u64>, String)>,
    /// Touched files by logged path, and whether they were changed.
    pub files: BTreeMap<String, bool>,
    /// Facts about the session, by kind.
    pub facts: Facts,
    /// Number of events read.
    pub events: u64,
    /// Number of unreadable lines.
    pub omitted: u64,
    /// The log was not read completely.
    pub partial: bool,
}

impl History {
    /// Reduces a transcript, including its title, which needs a second pass over the log.
    pub fn digest(&self, transcript: &Transcript, budget: &Budget) -> io::Result<Digest> {
        let mut digest = self.digest_untitled(transcript, budget)?;
        digest.title = self.given_title(transcript, budget);
        Ok(digest)
    }

    /// Reduces a transcript without its title.
    pub fn digest_untitled(&self, transcript: &Transcript, budget: &Budget) -> io::Result<Digest> {
        let mut digest = Digest::default();
        let span = Span { bytes: limits::DIGEST_HEAD, tail_bytes: limits::DIGEST_TAIL, ..Span::default() };
        let end = self.read(transcript, span, budget, &mut |event| {
            digest.add(event, transcript.subagent);
            ControlFlow::Continue(())
        })?;
        digest.omitted = end.bad_lines + end.long_lines;
        digest.partial = end.capped || end.stopped;
        Ok(digest)
    }

    /// Returns false only if no raw line in the digested parts can match. Takes a tenth of the time of a digest.
    pub fn may_hold(&self, transcript: &Transcript, pattern: &Regex) -> bool {
        if self.check(transcript).is_err() {
            return false;
        }
        // Decompressing a log costs more than searching it.
        let Ok(OpenLog::Plain(mut log)) = self.open(transcript) else { return true };
        let mut bytes = Vec::new();
        let mut search = || {
            log.by_ref().take(limits::DIGEST_HEAD).read_to_end(&mut bytes)?;
            let mut found = pattern.is_match(&bytes);
            if !found && bytes.len() as u64 == limits::DIGEST_HEAD {
                bytes.clear();
                log.seek(SeekFrom::End(-(limits::DIGEST_TAIL as i64 + limits::DIGEST_OVERLAP)))?;
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
        if event.copied || event.taken_back {
            return;
        }
        self.facts.add(&event);
        for file in &event.files {
            *self.files.entry(file.path.clone()).or_default() |= file.edited;
        }
        match &event.kind {
            // The list's rules choose the title: see `given_title`.
            EventKind::Title(_) | EventKind::CommandEnd | EventKind::Compaction => return,
            EventKind::Prompt if event.text == title::IMAGE_ONLY => {}
            EventKind::Prompt if of_subagent || !event.sidechain => {
                if self.prompts.len() == limits::PROMPTS {
                    self.prompts.remove(1);
                }
                let end = event.text.floor_char_boundary(limits::PROMPT);
                self.prompts.push(Fact::new(&event, event.text[..end].to_owned()));
            }
            EventKind::ToolCall { name } => self.calls.push((event.origin, name.clone())),
            _ => {}
        }
        self.events += 1;
    }
}
