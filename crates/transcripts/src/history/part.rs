//! Reads a transcript in parts: upwards from its end, around a line, or the lines that were appended.

use super::{
    log::{
        decoder::LogDecoder,
        event::Event,
        images::{TranscriptImage, images},
        lines::{Lines, LogLine, OpenLog},
        undone::UndoneLines,
    },
    logs::History,
    read::line_ends,
    transcript::Transcript,
};
use crate::limits;
use openagents_core::{budget::Budget, file};
use std::{
    collections::HashMap,
    io::{self, BufRead, BufReader, Read, SeekFrom},
};

/// The part of a transcript to read. Offsets are bytes of the log, or of its records if it is not line-based.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The last lines.
    End,
    /// The lines before the one that begins at this offset.
    Before(u64),
    /// The lines from this offset on.
    From(u64),
    /// The lines around this one, numbered from 1.
    Around(u64),
}

/// Events of consecutive lines.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TranscriptPart {
    /// In file order.
    pub events: Vec<Event>,
    /// Offset of the first line.
    pub from: u64,
    /// Offset after the last line.
    pub to: u64,
    pub size: u64,
    /// Lines that are not in this format, and lines that are too long.
    pub omitted: u64,
    /// Numbers and offsets of the lines with events, if the log's file contains the lines as they are.
    pub offsets: Vec<(u64, u64)>,
}

impl History {
    /// Reads some `bytes` of a transcript: whole lines, so at least one line. Lines are numbered 0 if more than 64 MiB
    /// precede them.
    pub fn part(
        &self,
        transcript: &Transcript,
        part: Part,
        bytes: u64,
        budget: &Budget,
    ) -> io::Result<TranscriptPart> {
        self.read_part(transcript, part, (bytes, limits::LINE), budget, &mut |_, _| {})
    }

    /// Like [`History::part`] from an offset on, for an index: includes lines that are long because of images.
    pub fn indexed_part(
        &self,
        transcript: &Transcript,
        from: u64,
        bytes: u64,
        budget: &Budget,
    ) -> io::Result<TranscriptPart> {
        self.read_part(transcript, Part::From(from), (bytes, limits::SHOWN_LINE), budget, &mut |_, _| {})
    }

    /// Like [`History::part`], for display: with the images by line, and including lines that are long because of them.
    pub fn shown_part(
        &self,
        transcript: &Transcript,
        part: Part,
        bytes: u64,
        budget: &Budget,
    ) -> io::Result<(TranscriptPart, HashMap<u64, Vec<TranscriptImage>>)> {
        let mut found = HashMap::new();
        let mut look = |number, line: &[u8]| {
            let images = images(line);
            if !images.is_empty() {
                found.insert(number, images);
            }
        };
        let read = self.read_part(transcript, part, (bytes, limits::SHOWN_LINE), budget, &mut look)?;
        Ok((read, found))
    }

    /// Reads lines of at most `line_bytes`, and passes those with events to `look`.
    fn read_part(
        &self,
        transcript: &Transcript,
        part: Part,
        (bytes, line_bytes): (u64, usize),
        budget: &Budget,
        look: &mut dyn FnMut(u64, &[u8]),
    ) -> io::Result<TranscriptPart> {
        self.check(transcript)?;
        let log = self.open(transcript)?;
        let is_file = log.is_file_of_lines();
        let (mut log, size) = log.sized()?;
        let (start, end) = match part {
            Part::End => (size.saturating_sub(bytes), size),
            Part::Before(offset) => (offset.min(size).saturating_sub(bytes), offset.min(size)),
            Part::From(offset) => (offset.min(size), offset.saturating_add(bytes).min(size)),
            Part::Around(line) => {
                let at = begin_of(&mut log, line, budget)?;
                (at.saturating_sub(bytes / 2), at.saturating_add(bytes / 2).min(size))
            }
        };
        let from = next_line(&mut log, start)?;
        let grows_upward = matches!(part, Part::End | Part::Before(_));
        if from >= end && start > 0 && grows_upward && !budget.spent() {
            return self.read_part(transcript, part, (bytes.saturating_mul(4), line_bytes), budget, look);
        }
        let before = line_ends(&mut log, 0..from, budget)?;
        log.seek(SeekFrom::Start(from))?;
        let mut read = TranscriptPart { from, to: from, size, ..TranscriptPart::default() };
        let mut decoder = self.log_decoder(transcript, log.undone(), from, budget)?;
        let mut lines = Lines::new(log, line_bytes, u64::MAX);
        while from + lines.position() < end {
            let Some(line) = lines.next(budget)? else {
                // The last lines were too long, or blank: nothing has to be read again.
                if lines.ended_whole() {
                    read.to = from + lines.position();
                }
                break;
            };
            let number = before.map_or(0, |before| before + line.number);
            let complete = line.complete;
            let line = LogLine { number, offset: from + line.offset, ..line };
            let decoded = decoder.line(&line);
            if !decoded.events.is_empty() {
                look(number, line.bytes);
                if is_file && number > 0 {
                    read.offsets.push((number, line.offset));
                }
            }
            read.events.extend(decoded.events);
            read.omitted += u64::from(decoded.is_broken && complete);
            // A last line without a line end may be incomplete: it is read again.
            if complete {
                read.to = from + lines.position();
            }
        }
        read.omitted += lines.extent().long_lines;
        Ok(read)
    }
}

impl History {
    /// Returns one line of a transcript, from 1, as it is in the log; `None` after the last one.
    pub fn line(&self, transcript: &Transcript, line: u64, budget: &Budget) -> io::Result<Option<String>> {
        self.check(transcript)?;
        let (mut log, size) = self.open(transcript)?.sized()?;
        let at = begin_of(&mut log, line, budget)?;
        if at >= size {
            return Ok(None);
        }
        if budget.spent() {
            return Err(io::Error::new(
                io::ErrorKind::TimedOut,
                format!("line {line} was not reached in time"),
            ));
        }
        log.seek(SeekFrom::Start(at))?;
        let mut bytes = Vec::new();
        BufReader::new(log.take(limits::SHOWN_LINE as u64)).read_until(b'\n', &mut bytes)?;
        Ok(Some(file::text(bytes.trim_ascii_end()).into_owned()))
    }
}

impl History {
    /// Returns the events of one line, from 1, that is known to have some: nothing else of the log is decoded. `before`
    /// is the number of that line or an earlier one, and its byte offset.
    pub fn line_events(
        &self,
        transcript: &Transcript,
        before: (u64, u64),
        line: u64,
        budget: &Budget,
    ) -> io::Result<Vec<Event>> {
        self.check(transcript)?;
        let mut log = self.open(transcript)?;
        let (first, offset) = before;
        // A log that was compressed in the meantime starts again at its first line.
        let first = log.seek(SeekFrom::Start(offset))?.map_or(1, |_| first);
        let mut log = BufReader::with_capacity(limits::CHUNK, log);
        for _ in first..line {
            if log.skip_until(b'\n')? == 0 || budget.spent() {
                return Ok(Vec::new());
            }
        }
        let mut bytes = Vec::new();
        log.take(limits::SHOWN_LINE as u64).read_until(b'\n', &mut bytes)?;
        let decoder = self.line_decoder(transcript, budget)?;
        let line = LogLine { number: line, offset, bytes: bytes.trim_ascii(), complete: true };
        Ok(LogDecoder::new(decoder, UndoneLines::default()).line(&line).events)
    }
}

/// Returns the offset of the first line that begins at `offset` or later.
fn next_line(log: &mut OpenLog, offset: u64) -> io::Result<u64> {
    let Some(before) = offset.checked_sub(1) else { return Ok(0) };
    log.seek(SeekFrom::Start(before))?;
    let skipped = BufReader::with_capacity(limits::CHUNK, log).skip_until(b'\n')?;
    Ok(before + skipped as u64)
}

fn begin_of(log: &mut OpenLog, line: u64, budget: &Budget) -> io::Result<u64> {
    log.seek(SeekFrom::Start(0))?;
    let mut reader = BufReader::with_capacity(limits::CHUNK, log.by_ref());
    let mut offset = 0;
    for _ in 1..line {
        let skipped = reader.skip_until(b'\n')?;
        if skipped == 0 || budget.spent() {
            break;
        }
        offset += skipped as u64;
    }
    Ok(offset)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{HistoryRoots, MemoryListingCache, Provider, Query};
    use openagents_core::CancellationToken;
    use std::{path::Path, sync::Arc, time::Duration};

    fn budget() -> Budget {
        Budget::within(Duration::from_secs(60), &CancellationToken::new())
    }

    fn history(folder: &Path, log: &str) -> (History, Transcript) {
        let path = folder.join("projects/-w/c1a0de00-0000-4000-8000-000000000001.jsonl");
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, log).unwrap();
        let history = History::new(
            HistoryRoots::default().with(Provider::ClaudeCode, folder),
            Arc::new(MemoryListingCache::default()),
        );
        let row = history.list(&Query { all: true, ..Query::default() }, &budget()).rows.remove(0);
        (history, row)
    }

    fn prompt(number: usize, length: usize) -> String {
        let text = format!("{number} {}", "x".repeat(length));
        format!("{{\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":\"{text}\"}}}}\n")
    }

    fn numbers(part: &TranscriptPart) -> Vec<u64> {
        for event in &part.events {
            assert!(
                event.text.starts_with(&format!("{} ", event.line)),
                "{}: {:.20}",
                event.line,
                event.text
            );
        }
        part.events.iter().map(|event| event.line).collect()
    }

    #[test]
    fn parts_cover_log_without_gaps() {
        let folder = tempfile::tempdir().unwrap();
        // Lines of very different lengths: some are longer than a part.
        let log: String = (1..=60).map(|number| prompt(number, number * number % 997)).collect();
        let (history, row) = history(folder.path(), &log);
        let mut part = history.part(&row, Part::End, 300, &budget()).unwrap();
        let mut seen = numbers(&part);
        while part.from > 0 {
            part = history.part(&row, Part::Before(part.from), 300, &budget()).unwrap();
            seen.splice(0..0, numbers(&part));
        }
        assert_eq!(seen, (1..=60).collect::<Vec<_>>());
    }

    #[test]
    fn part_counts_long_last_line_once() {
        let folder = tempfile::tempdir().unwrap();
        let log = format!("{}{}", prompt(1, 10), prompt(2, 2 * limits::LINE));
        let (history, row) = history(folder.path(), &log);
        let end = history.part(&row, Part::End, 1000, &budget()).unwrap();
        assert_eq!((numbers(&end), end.to, end.omitted), (vec![1], log.len() as u64, 1));
        let rest = history.part(&row, Part::From(end.to), 1000, &budget()).unwrap();
        assert_eq!((rest.events.len(), rest.omitted), (0, 0));
        // The log is still being written.
        std::fs::write(&row.file_path, log.trim_end()).unwrap();
        let torn = history.part(&row, Part::End, 1000, &budget()).unwrap();
        assert_eq!(torn.to, prompt(1, 10).len() as u64);
    }

    #[test]
    fn part_around_line_continues_below() {
        let folder = tempfile::tempdir().unwrap();
        let log: String = (1..=60).map(|number| prompt(number, 50)).collect();
        let (history, row) = history(folder.path(), &log);
        let around = numbers(&history.part(&row, Part::Around(30), 1000, &budget()).unwrap());
        assert!(around.contains(&29) && around.contains(&31) && around.len() < 20, "{around:?}");
        let end = history.part(&row, Part::End, 300, &budget()).unwrap();
        assert_eq!(end.to, log.len() as u64);
        let line = history.line(&row, 30, &budget()).unwrap();
        assert_eq!(line.as_deref(), Some(prompt(30, 50).trim_end()));
        assert_eq!(history.line(&row, 61, &budget()).unwrap(), None);
        let torn = &prompt(62, 1)[..20];
        std::fs::write(&row.file_path, format!("{log}{}{torn}", prompt(61, 1))).unwrap();
        let appended = history.part(&row, Part::From(end.to), 1 << 20, &budget()).unwrap();
        assert_eq!(numbers(&appended), [61]);
        std::fs::write(&row.file_path, format!("{log}{}{}", prompt(61, 1), prompt(62, 1))).unwrap();
        let rest = history.part(&row, Part::From(appended.to), 1 << 20, &budget()).unwrap();
        assert_eq!(numbers(&rest), [62], "the line that was being written");
        assert_eq!(history.part(&row, Part::From(rest.to), 1 << 20, &budget()).unwrap().events, []);
    }

    #[test]
    fn line_events_decodes_single_line() {
        let folder = tempfile::tempdir().unwrap();
        let log: String = (1..=60).map(|number| prompt(number, 5)).collect();
        let (history, row) = history(folder.path(), &log);
        let offsets = history.part(&row, Part::From(0), 1 << 20, &budget()).unwrap().offsets;
        assert_eq!(offsets[..2], [(1, 0), (2, prompt(1, 5).len() as u64)]);
        let texts = |before: (u64, u64), line| -> Vec<String> {
            let events = history.line_events(&row, before, line, &budget()).unwrap();
            events.into_iter().map(|event| event.text).collect()
        };
        for before in [offsets[0], offsets[19], offsets[29]] {
            assert_eq!((texts(before, 30), texts(before, 61)), (vec!["30 xxxxx".to_owned()], vec![]));
        }
        assert_eq!(texts((1, 1 << 40), 30), [""; 0], "the log was replaced by a shorter one");
        let cancel = CancellationToken::new();
        cancel.cancel();
        let late = history.line(&row, 30, &Budget::within(Duration::from_secs(60), &cancel));
        assert_eq!(late.unwrap_err().kind(), io::ErrorKind::TimedOut);
        std::fs::remove_file(&row.file_path).unwrap();
        let compressed = zstd::bulk::compress(log.as_bytes(), 3).unwrap();
        std::fs::write(row.file_path.with_extension("jsonl.zst"), compressed).unwrap();
        assert_eq!(texts(offsets[29], 31), ["31 xxxxx"], "the log was compressed");

        // If a prompt has two records, a reader of the whole log takes only the first one.
        let id = "0199a2b4-1111-7000-8000-000000000001";
        let path = folder.path().join(format!("sessions/2026/01/01/rollout-2026-01-01T00-00-00-{id}.jsonl"));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let log = [
            r#"{"timestamp":"2026-01-01T00:00:00Z","type":"event_msg","payload":{"type":"user_message","message":"Fix it"}}"#,
            r#"{"timestamp":"2026-01-01T00:00:00Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"Fix it"}]}}"#,
        ];
        std::fs::write(path, log.join("\n")).unwrap();
        let roots = HistoryRoots::default().with(Provider::Codex, folder.path());
        let history = History::new(roots, Arc::new(MemoryListingCache::default()));
        let row = history.list(&Query { all: true, ..Query::default() }, &budget()).rows.remove(0);
        assert_eq!(history.part(&row, Part::End, 4096, &budget()).unwrap().events.len(), 1);
        for line in [1, 2] {
            assert_eq!(
                history.line_events(&row, (1, 0), line, &budget()).unwrap()[0].text,
                "Fix it",
                "line {line}"
            );
        }
    }
}
