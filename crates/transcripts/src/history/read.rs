//! Streams the events of a transcript.

use super::{
    log::{
        decoder::{Decoder, LogDecoder},
        event::{Event, EventKind},
        json::Node,
        lines::{Extent, Lines, LogLine, OpenLog},
        log_file::LogFile,
        undone::UndoneLines,
    },
    logs::{History, Source},
    prompts::is_prompts_only,
    search_text::raw_filter::RawFilter,
    transcript::Transcript,
};
use crate::limits;
use openagents_core::{budget::Budget, terms::FoldedText};
use std::{
    collections::{BTreeSet, HashMap, HashSet},
    io::{self, BufRead, BufReader, Read, SeekFrom},
    ops::{ControlFlow, Range},
    path::PathBuf,
    sync::OnceLock,
};

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
        Self { from_line: 1, to_line: u64::MAX, bytes: u64::MAX, tail_bytes: 0, line_bytes: limits::LINE }
    }
}

impl Span {
    /// A whole transcript, with lines that are long because of images.
    pub fn with_long_lines() -> Self {
        Self { line_bytes: limits::SHOWN_LINE, ..Self::default() }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReadEnd {
    /// Lines that are not in this format.
    pub bad_lines: u64,
    pub long_lines: u64,
    /// The cap was reached before the last line.
    pub capped: bool,
    /// The budget was spent before the last line.
    pub stopped: bool,
}

impl History {
    /// Passes the events of a part of a transcript to `visit`, in file order.
    pub fn read_transcript(
        &self,
        transcript: &Transcript,
        span: Span,
        budget: &Budget,
        visit: &mut dyn FnMut(Event) -> ControlFlow<()>,
    ) -> io::Result<ReadEnd> {
        self.read_with_lines(transcript, span, &BTreeSet::new(), budget, visit)
    }

    /// Like [`History::read_transcript`], and reads the given lines behind the first `span.bytes` too, with those that
    /// follow each, which have the results of its calls.
    pub(super) fn read_with_lines(
        &self,
        transcript: &Transcript,
        span: Span,
        more: &BTreeSet<u64>,
        budget: &Budget,
        visit: &mut dyn FnMut(Event) -> ControlFlow<()>,
    ) -> io::Result<ReadEnd> {
        self.check(transcript)?;
        let log = self.open(transcript)?;
        let decoder = self.log_decoder(transcript, log.undone(), 0, budget)?;
        let mut reading = Reading { decoder, visit, end: ReadEnd::default() };
        let mut lines = Lines::new(log, span.line_bytes, u64::MAX);
        let mut first_offset = None;
        while let Some(line) = lines.next(budget)? {
            if line.number > span.to_line {
                break;
            }
            if line.number < span.from_line {
                continue;
            }
            let read = line.offset - *first_offset.get_or_insert(line.offset) + line.bytes.len() as u64;
            if read > span.bytes {
                reading.end.capped = true;
                let mut wanted = more.range(line.number.saturating_sub(limits::RESULT_LINES)..);
                match wanted.next() {
                    None => break,
                    Some(next) if *next > line.number => continue,
                    Some(_) => {}
                }
            }
            if reading.line(line).is_break() {
                break;
            }
        }
        reading.add(lines.extent());
        let (position, consumed) = (lines.position(), lines.number());
        if reading.end.capped
            && span.tail_bytes > 0
            && let Some(mut tail) = lines.tail(span.tail_bytes)?
        {
            let skipped = line_ends(&mut self.open(transcript)?, position..tail.position(), budget)?;
            let before = skipped.map(|ends| consumed + ends);
            while let Some(line) = tail.next(budget)? {
                let number = before.map_or(0, |before| before + line.number);
                if reading.line(LogLine { number, ..line }).is_break() {
                    break;
                }
            }
            reading.add(tail.extent());
        }
        Ok(reading.end)
    }

    pub(super) fn open(&self, transcript: &Transcript) -> io::Result<OpenLog> {
        if is_prompts_only(&transcript.file_path) {
            return self.prompts.open(transcript);
        }
        let located = self.locate(transcript)?;
        (located.format().open)(located.files())
    }

    pub(super) fn source(&self, transcript: &Transcript) -> io::Result<Source> {
        let provider = transcript.provider;
        let holds = |source: &Source| transcript.file_path.starts_with(&source.root);
        self.sources(Some(provider)).into_iter().max_by_key(holds).ok_or_else(|| {
            io::Error::new(io::ErrorKind::NotFound, format!("no logs of {}", provider.as_str()))
        })
    }

    pub(super) fn decoder(&self, transcript: &Transcript, budget: &Budget) -> io::Result<Box<dyn Decoder>> {
        let located = self.locate(transcript)?;
        let Source { format, root, .. } = &located.source;
        let files: OnceLock<HashMap<String, PathBuf>> = OnceLock::new();
        let locate = |id: &str| {
            let found = || {
                let files = (format.discover)(root, budget).into_iter();
                files.map(|file| (file.id, file.path)).collect()
            };
            let here = files.get_or_init(found).get(id).cloned();
            here.or_else(|| Some(self.unpacked_log(&located.source, id)?.path))
        };
        Ok((format.decoder)(located.files(), &locate, budget))
    }

    /// Returns a decoder for the lines from byte `from` of a log on. `undone` has the undone lines that the open
    /// log knows.
    pub(super) fn log_decoder(
        &self,
        transcript: &Transcript,
        undone: UndoneLines,
        from: u64,
        budget: &Budget,
    ) -> io::Result<LogDecoder> {
        let located = self.locate(transcript)?;
        let undone = undone.or(|| located.format().undone(located.files(), from..u64::MAX, budget));
        let decoder = LogDecoder::new(self.decoder(transcript, budget)?, undone);
        Ok(decoder.with_copies_of(self.origins_of_original(transcript, budget)))
    }

    /// Returns whether lines before byte `offset` of a log were undone by those after it.
    pub fn undoes_before(&self, transcript: &Transcript, offset: u64, budget: &Budget) -> bool {
        let Ok(located) = self.locate(transcript) else { return true };
        let from = offset.saturating_sub(limits::RECENTLY_UNDONE);
        located.format().undoes_before(located.files(), from, offset, budget)
    }

    /// Returns the origins of the lines of the session that `transcript` was copied from: empty if it is not a copy,
    /// `None` if that session is gone.
    fn origins_of_original(&self, transcript: &Transcript, budget: &Budget) -> Option<HashSet<u64>> {
        let mut origins = HashSet::new();
        let Some(original) = &transcript.continues else { return Some(origins) };
        let source = self.source(transcript).ok()?;
        let format = source.format;
        let found = (format.discover)(&source.root, budget).into_iter().find(|file| file.id == *original);
        let file = found.or_else(|| self.unpacked_log(&source, original))?;
        if transcript.first_line.is_none() {
            return Some(origins);
        }
        let mut decoder = format.line_decoder(file.files(), budget);
        let mut lines = Lines::new((format.open)(file.files()).ok()?, limits::LINE, limits::COPIED);
        while let Ok(Some(line)) = lines.next(budget) {
            let text = line.text();
            let events = Node::parse_object(&text).and_then(|node| decoder.record(&node, line.number));
            origins.extend(events.iter().flatten().filter_map(|event| event.origin));
        }
        Some(origins)
    }

    pub(super) fn line_decoder(
        &self,
        transcript: &Transcript,
        budget: &Budget,
    ) -> io::Result<Box<dyn Decoder>> {
        let located = self.locate(transcript)?;
        Ok(located.format().line_decoder(located.files(), budget))
    }

    /// Returns the title given by the agent or the user, by the rules of the agent's list; never a prompt.
    pub(crate) fn given_title(&self, transcript: &Transcript, budget: &Budget) -> Option<String> {
        self.check(transcript).ok()?;
        let located = self.locate(transcript).ok()?;
        let name = (located.format().names)(&located.source.root).remove(&transcript.id);
        // Lines copied from a parent do not matter: a name is not a turn.
        let logged = || {
            let file = LogFile::of_transcript(&located.moved(transcript));
            located.format().summarise(&file, &|_| None, budget).given_title
        };
        match name {
            Some(name) if name.is_given => Some(name.text),
            name => logged().or(name.map(|name| name.text)),
        }
    }
}

struct Reading<'a> {
    decoder: LogDecoder,
    visit: &'a mut dyn FnMut(Event) -> ControlFlow<()>,
    end: ReadEnd,
}

impl Reading<'_> {
    fn line(&mut self, line: LogLine<'_>) -> ControlFlow<()> {
        let decoded = self.decoder.line(&line);
        // A last line without a line end may be incomplete.
        self.end.bad_lines += u64::from(decoded.is_broken && line.complete);
        decoded.events.into_iter().try_for_each(&mut *self.visit)
    }

    fn add(&mut self, extent: Extent) {
        self.end.long_lines += extent.long_lines;
        self.end.capped |= extent.capped;
        self.end.stopped |= extent.stopped;
    }
}

/// Counts the line ends in a range of a log; `None` if that takes too long.
pub(super) fn line_ends(log: &mut OpenLog, range: Range<u64>, budget: &Budget) -> io::Result<Option<u64>> {
    let length = range.end - range.start;
    if length > limits::COUNTED {
        return Ok(None);
    }
    if log.seek(SeekFrom::Start(range.start))?.is_none() {
        return Ok(None);
    }
    let mut log = BufReader::with_capacity(limits::COUNT_CHUNK, log.take(length));
    let mut ends = 0;
    loop {
        let chunk = match log.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            chunk => chunk?,
        };
        if chunk.is_empty() {
            return Ok(Some(ends));
        }
        if budget.spent() {
            return Ok(None);
        }
        ends += memchr::memchr_iter(b'\n', chunk).count() as u64;
        let counted = chunk.len();
        log.consume(counted);
    }
}

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
        let mut decoder = LogDecoder::new(self.decoder(transcript, budget)?, UndoneLines::default());
        let mut lines = Lines::new(self.open(transcript)?, limits::LINE, u64::MAX);
        let mut found = Vec::new();
        while let Some(line) = lines.next(budget)? {
            if !filter.may_match(line.bytes) {
                continue;
            }
            let events = decoder.line(&line).events;
            if events.iter().any(|event| is_shown(event) && has_text(event, wanted)) {
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

fn has_text(event: &Event, wanted: &str) -> bool {
    let has = |text: &str| FoldedText::new(text).text().contains(wanted);
    matches!(&event.kind, EventKind::ToolCall { name } if has(name)) || has(&event.readable_text())
}
