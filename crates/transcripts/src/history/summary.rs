//! Summarises a session from the events of its head and tail, for agents without their own rules.

use super::{
    log::{
        decoder::{Decoder, LogDecoder, SessionFacts},
        event::{Event, EventKind, TitleRank},
        known::LogSurvey,
        lines::{Lines, LogLine, OpenLog},
        log_file::{LogFile, Summarised},
        title,
        undone::UndoneLines,
    },
    transcript::Provider,
};
use crate::limits;
use openagents_core::budget::Budget;
use std::io;

pub(crate) fn summarise(
    provider: Provider,
    file: &LogFile,
    log: io::Result<(OpenLog, UndoneLines)>,
    decoder: Box<dyn Decoder>,
    budget: &Budget,
) -> Summarised {
    let (log, undone) = match log {
        Ok((log, undone)) => (Ok(log), undone),
        Err(error) => (Err(error), UndoneLines::default()),
    };
    let met = log.as_ref().ok().and_then(OpenLog::survey).cloned();
    let decoder = LogDecoder::new(decoder, undone);
    let mut summary = Summary {
        decoder: if met.is_some() { decoder } else { decoder.surveying(LogSurvey::new(provider)) },
        title: None,
        first_prompt: None,
        first_at: None,
        last_at: None,
        first_line: None,
        prompts: 0,
        bad_lines: 0,
    };
    let whole = log.and_then(|log| summary.read_log(log, budget)).unwrap_or_else(|error| {
        tracing::debug!(%error, path = %file.path.display(), "a session could not be read");
        false
    });
    let met = met.or_else(|| summary.decoder.survey().cloned());
    let mut summarised = summary.finish(provider, file, whole);
    if let Some(LogSurvey { version, unknown, .. }) = met {
        (summarised.row.version, summarised.row.unknown) = (version, unknown);
    }
    summarised
}

struct Summary {
    decoder: LogDecoder,
    title: Option<(TitleRank, String)>,
    first_prompt: Option<String>,
    first_at: Option<i64>,
    last_at: Option<i64>,
    /// Origin of the first event that has one.
    first_line: Option<u64>,
    prompts: u64,
    bad_lines: u64,
}

impl Summary {
    /// Returns whether all lines were read.
    fn read_log(&mut self, log: OpenLog, budget: &Budget) -> io::Result<bool> {
        let mut lines = Lines::new(log, limits::SUMMARY_LINE, limits::SUMMARY_HEAD);
        while lines.position() < limits::SUMMARY_WHOLE || self.first_prompt.is_none() {
            let Some(line) = lines.next(budget)? else {
                let extent = lines.extent();
                if extent.capped {
                    break;
                }
                return Ok(!extent.stopped);
            };
            self.line(line);
        }
        if let Some(mut tail) = lines.tail(limits::SUMMARY_END)? {
            while let Some(line) = tail.next(budget)? {
                self.line(line);
            }
        }
        Ok(false)
    }

    fn line(&mut self, line: LogLine<'_>) {
        let decoded = self.decoder.line(&line);
        // A last line without a line end may be incomplete.
        self.bad_lines += u64::from(decoded.is_broken && line.complete);
        decoded.events.into_iter().for_each(|event| self.event(event));
    }

    fn event(&mut self, event: Event) {
        self.first_line = self.first_line.or(event.origin);
        self.last_at = self.last_at.max(event.timestamp);
        if event.copied || event.sidechain {
            return;
        }
        if let Some(at) = event.timestamp {
            self.first_at = Some(self.first_at.map_or(at, |first| first.min(at)));
        }
        // A name stays when the turns around it are undone.
        if event.undone && !matches!(event.kind, EventKind::Title(_)) {
            return;
        }
        match event.kind {
            EventKind::Prompt => {
                self.prompts += 1;
                self.first_prompt.get_or_insert_with(|| title::one_line(&event.text));
            }
            EventKind::Title(rank) if self.title.as_ref().is_none_or(|(known, _)| *known <= rank) => {
                self.title = Some((rank, event.text));
            }
            _ => {}
        }
    }

    fn finish(self, provider: Provider, file: &LogFile, whole: bool) -> Summarised {
        let facts: SessionFacts = self.decoder.decoder.facts();
        let given_title = self.title.map(|(_, title)| title).or(facts.title);
        let mut row = file.unread(provider);
        row.id = facts.id.unwrap_or(row.id);
        row.named = given_title.is_some();
        row.title = given_title.clone().or(self.first_prompt);
        row.cwd = facts.cwd;
        row.branch = facts.branch;
        row.model = facts.model;
        row.created_at = facts.created_at.or(self.first_at);
        row.updated_at =
            facts.updated_at.or(self.last_at.filter(|_| !file.is_dated)).unwrap_or(row.updated_at);
        row.user_turns = whole.then_some(self.prompts);
        row.tokens = facts.total_tokens.or(facts.tokens.filter(|_| whole));
        row.subagent |= facts.subagent;
        row.archived |= facts.archived;
        row.continues = facts.continues;
        row.first_line = self.first_line;
        row.hidden |= facts.hidden || row.subagent || (whole && self.prompts == 0);
        row.bad_lines = self.bad_lines;
        Summarised { row, given_title }
    }
}
