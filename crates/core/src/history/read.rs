//! Streams the events of a transcript.

use super::{
    event::{Decoded, Event},
    lines::{self, Extent, Lines, OpenLog},
    logs::History,
    source::{Decoder, LogFile},
    transcript::Transcript,
};
use crate::budget::Budget;
use std::{
    collections::HashMap,
    io::{self, Read, Seek, SeekFrom},
    ops::ControlFlow,
    path::PathBuf,
    sync::OnceLock,
};

/// Maximum number of bytes between the head and the tail of a log for counting lines.
const COUNTED_BYTES: u64 = 64 << 20;
const COUNT_CHUNK: usize = 256 << 10;

/// The requested part of a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The first line, from 1.
    pub from_line: u64,
    /// The last line.
    pub to_line: u64,
    /// Maximum number of bytes read from the first line on.
    pub bytes: u64,
    /// Bytes read at the end if `bytes` is not enough. Lines in between are only counted; if they exceed 64 MiB, lines
    /// of the tail are numbered 0.
    pub tail_bytes: u64,
    /// Maximum length of a line in bytes; longer ones are skipped.
    pub line_bytes: usize,
}

impl Default for Span {
    fn default() -> Self {
        Self { from_line: 1, to_line: u64::MAX, bytes: u64::MAX, tail_bytes: 0, line_bytes: 1 << 20 }
    }
}

/// Statistics of a read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReadEnd {
    /// Lines that are not of this format.
    pub bad_lines: u64,
    /// Skipped lines that are too long.
    pub long_lines: u64,
    /// The cap was reached before the last line.
    pub capped: bool,
    /// The budget was spent before the last line.
    pub stopped: bool,
}

impl History {
    /// Passes the events of a part of a transcript to `visit`, in file order.
    pub fn read(
        &self,
        transcript: &Transcript,
        span: Span,
        budget: &Budget,
        visit: &mut dyn FnMut(Event) -> ControlFlow<()>,
    ) -> io::Result<ReadEnd> {
        let mut decoder = self.decoder(transcript, budget)?;
        let log = lines::open(&transcript.file_path)?;
        let mut reading =
            Reading { decoder: decoder.as_mut(), visit, events: vec![], end: ReadEnd::default() };
        let mut lines = Lines::new(log, span.line_bytes, u64::MAX);
        let mut first_offset = None;
        loop {
            let Some(line) = lines.next(budget)? else {
                reading.finish(lines.extent());
                return Ok(reading.end);
            };
            if line.number > span.to_line {
                break;
            }
            if line.number < span.from_line {
                continue;
            }
            let read = line.offset - *first_offset.get_or_insert(line.offset) + line.bytes.len() as u64;
            if read > span.bytes {
                reading.end.capped = true;
                break;
            }
            if reading.line(line.bytes, line.number, line.complete).is_break() {
                break;
            }
        }
        reading.finish(lines.extent());
        if reading.end.capped
            && span.tail_bytes > 0
            && let (position, consumed) = (lines.position(), lines.number())
            && let OpenLog::Plain(mut log) = lines.into_reader()
        {
            let end = log.seek(SeekFrom::End(0))?;
            let from = position.max(end.saturating_sub(span.tail_bytes));
            log.seek(SeekFrom::Start(position))?;
            let before = line_ends(&mut log, from - position, budget)?.map(|ends| consumed + ends);
            log.seek(SeekFrom::Start(from))?;
            reading.tail(log, before, from == position, span, budget)?;
        }
        Ok(reading.end)
    }

    pub(super) fn decoder(&self, transcript: &Transcript, budget: &Budget) -> io::Result<Box<dyn Decoder>> {
        let sources = self.sources(Some(transcript.provider));
        let source = sources.first().ok_or_else(|| {
            io::Error::new(io::ErrorKind::NotFound, format!("no logs of {}", transcript.provider.as_str()))
        })?;
        let files: OnceLock<HashMap<String, PathBuf>> = OnceLock::new();
        let locate = |id: &str| {
            let found = || source.discover(budget).into_iter().map(|file| (file.id, file.path)).collect();
            files.get_or_init(found).get(id).cloned()
        };
        Ok(source.decoder(&transcript.file_path, &locate, budget))
    }

    /// Returns the title given by the agent or a person, by the rules of the agent's list; never a prompt.
    pub(crate) fn given_title(&self, transcript: &Transcript, budget: &Budget) -> Option<String> {
        let source = self.sources(Some(transcript.provider)).into_iter().next()?;
        let name = source.names().remove(&transcript.id);
        name.or_else(|| source.given_title(&LogFile::of(transcript)?, budget))
    }
}

struct Reading<'a> {
    decoder: &'a mut dyn Decoder,
    visit: &'a mut dyn FnMut(Event) -> ControlFlow<()>,
    events: Vec<Event>,
    end: ReadEnd,
}

impl Reading<'_> {
    fn line(&mut self, bytes: &[u8], number: u64, complete: bool) -> ControlFlow<()> {
        if self.decoder.line(bytes, number, &mut self.events) == Decoded::Bad {
            // A last line without an end may still be written.
            self.end.bad_lines += u64::from(complete);
        }
        for event in self.events.drain(..) {
            (self.visit)(event)?;
        }
        ControlFlow::Continue(())
    }

    /// Reads the end of a log after `before` lines.
    fn tail(
        &mut self,
        log: impl Read,
        before: Option<u64>,
        at_line: bool,
        span: Span,
        budget: &Budget,
    ) -> io::Result<()> {
        let mut lines = Lines::new(log, span.line_bytes, span.tail_bytes.saturating_mul(2));
        let mut torn = !at_line;
        while let Some(line) = lines.next(budget)? {
            let number = before.map_or(0, |before| before + line.number);
            if !std::mem::take(&mut torn) && self.line(line.bytes, number, line.complete).is_break() {
                break;
            }
        }
        self.finish(lines.extent());
        Ok(())
    }

    fn finish(&mut self, extent: Extent) {
        self.end.long_lines += extent.long_lines;
        self.end.capped |= extent.capped;
        self.end.stopped |= extent.stopped;
    }
}

/// Counts the line ends in the next `bytes` of a log; `None` if that takes too long.
fn line_ends(log: &mut impl Read, bytes: u64, budget: &Budget) -> io::Result<Option<u64>> {
    if bytes > COUNTED_BYTES {
        return Ok(None);
    }
    let mut buffer = vec![0; usize::try_from(bytes).unwrap_or(COUNT_CHUNK).min(COUNT_CHUNK)];
    let (mut left, mut ends) = (bytes, 0);
    while left > 0 && !budget.spent() {
        let wanted = buffer.len().min(usize::try_from(left).unwrap_or(COUNT_CHUNK));
        let read = match log.read(&mut buffer[..wanted]) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        if read == 0 {
            break;
        }
        ends += memchr::memchr_iter(b'\n', &buffer[..read]).count() as u64;
        left -= read as u64;
    }
    Ok((left == 0).then_some(ends))
}
