//! Reads a log line by line in bounded memory, plain or zstd; stops when the budget is spent.

use super::file;
use crate::budget::Budget;
use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

/// Bytes per read; the budget is checked before each.
const CHUNK: usize = 64 << 10;

/// One line without its end (`\n` or `\r\n`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LogLine<'a> {
    /// From 1, blank lines included.
    pub(crate) number: u64,
    /// Byte offset of the line from the start of the input.
    pub(crate) offset: u64,
    /// The line.
    pub(crate) bytes: &'a [u8],
    /// False for a last line without an end, which may still be written.
    pub(crate) complete: bool,
}

/// Extent of a read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Extent {
    /// Bytes read.
    pub(crate) bytes: u64,
    /// Skipped lines longer than the cap.
    pub(crate) long_lines: u64,
    /// The byte cap was reached before the end of the file.
    pub(crate) capped: bool,
    /// The budget was spent before the end of the file.
    pub(crate) stopped: bool,
}

/// A bounded reader of lines.
pub(crate) struct Lines<R> {
    reader: R,
    buffer: Vec<u8>,
    start: usize,
    scanned: usize,
    number: u64,
    offset: u64,
    max_line: usize,
    max_bytes: u64,
    ended: bool,
    in_long_line: bool,
    extent: Extent,
}

impl<R: Read> Lines<R> {
    /// Reads at most `max_bytes` bytes and skips lines longer than `max_line` bytes.
    pub(crate) fn new(reader: R, max_line: usize, max_bytes: u64) -> Self {
        Self {
            reader,
            buffer: Vec::with_capacity(CHUNK),
            start: 0,
            scanned: 0,
            number: 0,
            offset: 0,
            max_line,
            max_bytes,
            ended: false,
            in_long_line: false,
            extent: Extent::default(),
        }
    }

    /// Returns the extent read so far.
    pub(crate) fn extent(&self) -> Extent {
        self.extent
    }

    /// Returns the byte offset of the next line.
    pub(crate) fn position(&self) -> u64 {
        self.offset
    }

    /// Returns the number of lines read so far.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Returns the reader; buffered bytes are lost.
    pub(crate) fn into_reader(self) -> R {
        self.reader
    }

    /// Returns the next non-blank line; `None` at the end, at the cap, or when the budget is spent.
    pub(crate) fn next(&mut self, budget: &Budget) -> io::Result<Option<LogLine<'_>>> {
        loop {
            if let Some(found) = memchr::memchr(b'\n', &self.buffer[self.scanned..]) {
                let (from, to) = (self.start, self.scanned + found);
                self.start = to + 1;
                self.scanned = self.start;
                self.number += 1;
                let offset = self.offset;
                self.offset += (to + 1 - from) as u64;
                if std::mem::take(&mut self.in_long_line) || to - from > self.max_line {
                    self.extent.long_lines += 1;
                    continue;
                }
                let (from, to) = trimmed(&self.buffer, from, to);
                if from == to {
                    continue;
                }
                let bytes = &self.buffer[from..to];
                return Ok(Some(LogLine { number: self.number, offset, bytes, complete: true }));
            }
            self.scanned = self.buffer.len();
            if self.scanned - self.start > self.max_line {
                // Only the length of a too long line is kept.
                self.offset += (self.scanned - self.start) as u64;
                self.in_long_line = true;
                self.start = self.scanned;
            }
            if self.ended {
                return Ok(self.last_line());
            }
            if budget.spent() {
                self.extent.stopped = true;
                return Ok(None);
            }
            self.fill()?;
        }
    }

    fn fill(&mut self) -> io::Result<()> {
        self.buffer.drain(..self.start);
        self.scanned -= self.start;
        self.start = 0;
        let room = self.max_bytes.saturating_sub(self.extent.bytes);
        let wanted = CHUNK.min(usize::try_from(room).unwrap_or(CHUNK));
        let filled = self.buffer.len();
        if wanted == 0 {
            // One more byte distinguishes the cap from the end of the file.
            self.extent.capped = self.reader.read(&mut [0])? > 0;
            self.ended = true;
            return Ok(());
        }
        self.buffer.resize(filled + wanted, 0);
        let read = loop {
            match self.reader.read(&mut self.buffer[filled..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.buffer.truncate(filled);
                    return Err(error);
                }
                Ok(read) => break read,
            }
        };
        self.buffer.truncate(filled + read);
        self.extent.bytes += read as u64;
        self.ended = read == 0;
        Ok(())
    }

    fn last_line(&mut self) -> Option<LogLine<'_>> {
        let (from, to) = (self.start, self.buffer.len());
        self.start = to;
        if std::mem::take(&mut self.in_long_line) {
            self.number += 1;
            self.extent.long_lines += 1;
            return None;
        }
        if from == to || self.extent.capped {
            return None;
        }
        self.number += 1;
        let offset = self.offset;
        self.offset += (to - from) as u64;
        let (from, to) = trimmed(&self.buffer, from, to);
        let bytes = &self.buffer[from..to];
        (from < to).then_some(LogLine { number: self.number, offset, bytes, complete: false })
    }
}

fn trimmed(buffer: &[u8], mut from: usize, mut to: usize) -> (usize, usize) {
    while from < to && buffer[from].is_ascii_whitespace() {
        from += 1;
    }
    while from < to && buffer[to - 1].is_ascii_whitespace() {
        to -= 1;
    }
    (from, to)
}

/// An open log.
pub(crate) enum OpenLog {
    /// Uncompressed; seekable.
    Plain(File),
    /// Compressed; can only be read from the start.
    Zstd(zstd::stream::read::Decoder<'static, io::BufReader<File>>),
}

impl Read for OpenLog {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(file) => file.read(buffer),
            Self::Zstd(decoder) => decoder.read(buffer),
        }
    }
}

/// Opens a log. Codex compresses and decompresses cold logs at any time, so a missing log is looked up again under its
/// other name.
pub(crate) fn open(path: &Path) -> io::Result<OpenLog> {
    match open_as_named(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => match other_name(path) {
            Some(other) => open_as_named(&other).map_err(|_| error),
            None => Err(error),
        },
        result => result,
    }
}

fn open_as_named(path: &Path) -> io::Result<OpenLog> {
    let file = file::open(path)?;
    if is_zstd(path) {
        Ok(OpenLog::Zstd(zstd::stream::read::Decoder::new(file)?))
    } else {
        Ok(OpenLog::Plain(file))
    }
}

/// Returns whether a log's name has the suffix of a compressed one.
pub(crate) fn is_zstd(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "zst")
}

/// Returns `x.jsonl.zst` for `x.jsonl` and the other way round.
pub(crate) fn other_name(path: &Path) -> Option<PathBuf> {
    if is_zstd(path) {
        return Some(path.with_extension(""));
    }
    let mut name = path.file_name()?.to_owned();
    name.push(".zst");
    Some(path.with_file_name(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CancellationToken;
    use std::time::Duration;

    fn read(bytes: &[u8], max_line: usize, max_bytes: u64) -> (Vec<(u64, u64, String, bool)>, Extent) {
        let budget = Budget::within(Duration::from_secs(60), &CancellationToken::new());
        let mut lines = Lines::new(bytes, max_line, max_bytes);
        let mut seen = vec![];
        while let Some(line) = lines.next(&budget).unwrap() {
            let text = String::from_utf8_lossy(line.bytes).into_owned();
            seen.push((line.number, line.offset, text, line.complete));
        }
        (seen, lines.extent())
    }

    #[test]
    fn numbers_lines_and_tells_a_half_written_one() {
        let (lines, extent) = read(b"a\r\n\nbc\nd", 100, 100);
        assert_eq!(
            lines,
            vec![(1, 0, "a".into(), true), (3, 4, "bc".into(), true), (4, 7, "d".into(), false)]
        );
        assert_eq!(extent, Extent { bytes: 8, ..Extent::default() });
    }

    #[test]
    fn passes_over_long_lines() {
        let text = [b"x".repeat(200_000), b"\nok\n".to_vec(), b"y".repeat(200_000)].concat();
        let (lines, extent) = read(&text, 1000, 1 << 20);
        assert_eq!(lines, vec![(2, 200_001, "ok".into(), true)]);
        assert_eq!(extent.long_lines, 2);
    }

    #[test]
    fn stops_at_the_cap_without_a_torn_line() {
        let (lines, extent) = read(b"aa\nbbbb\n", 100, 5);
        assert_eq!(lines, vec![(1, 0, "aa".into(), true)]);
        assert!(extent.capped);
        let (lines, extent) = read(b"aa\nbb\n", 100, 6);
        assert_eq!(lines.len(), 2);
        assert!(!extent.capped);
    }

    #[test]
    fn stops_when_the_budget_is_spent() {
        let cancel = CancellationToken::new();
        cancel.cancel();
        let mut lines = Lines::new(&b"a\n"[..], 10, 10);
        assert_eq!(lines.next(&Budget::within(Duration::from_secs(60), &cancel)).unwrap(), None);
        assert!(lines.extent().stopped);
    }

    #[test]
    fn names_of_a_log() {
        assert_eq!(other_name(Path::new("/a/r.jsonl")), Some(PathBuf::from("/a/r.jsonl.zst")));
        assert_eq!(other_name(Path::new("/a/r.jsonl.zst")), Some(PathBuf::from("/a/r.jsonl")));
    }
}
