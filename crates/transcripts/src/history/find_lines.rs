//! Finds text in one transcript, as the user sees it.

use super::{
    decoder::LogDecoder,
    event::{Event, EventKind},
    lines::Lines,
    logs::History,
    raw_filter::RawFilter,
    taken_back::TakenBack,
    transcript::Transcript,
};
use crate::limits;
use openagents_core::{budget::Budget, terms::FoldedText};
use std::io;

impl History {
    /// Returns the lines, from 1, with `text` in a prompt, an answer, a thought, or a call and its result, ignoring
    /// case, width and Unicode normalization; at most `limit`. Also returns whether there are more lines or the budget
    /// was spent.
    pub fn find_lines(
        &self,
        transcript: &Transcript,
        text: &str,
        limit: usize,
        budget: &Budget,
    ) -> io::Result<(Vec<u64>, bool)> {
        self.check(transcript)?;
        let folded = FoldedText::new(text);
        let wanted = folded.text();
        let filter = RawFilter::new([wanted].into_iter());
        let mut decoder = LogDecoder::new(self.decoder(transcript, budget)?, TakenBack::default());
        let mut lines = Lines::new(self.open(transcript)?, limits::LINE, u64::MAX);
        let mut found = Vec::new();
        while let Some(line) = lines.next(budget)? {
            if !filter.may_match(line.bytes) {
                continue;
            }
            let events = decoder.line(&line).events;
            if events.iter().any(|event| is_shown(event) && has(event, wanted)) {
                if found.len() == limit {
                    return Ok((found, true));
                }
                found.push(line.number);
            }
        }
        Ok((found, budget.spent()))
    }
}

fn is_shown(event: &Event) -> bool {
    !event.sidechain
        && !matches!(event.kind, EventKind::Title(_) | EventKind::FileChange | EventKind::CommandEnd)
}

fn has(event: &Event, wanted: &str) -> bool {
    let has = |text: &str| FoldedText::new(text).text().contains(wanted);
    matches!(&event.kind, EventKind::ToolCall { name } if has(name)) || has(&event.said())
}
