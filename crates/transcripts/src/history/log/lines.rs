//! Reads a log line by line in bounded memory, plain or zstd; stops when the budget is spent.

use super::{
    joined::{Joined, Positioned},
    known::LogSurvey,
    undone::UndoneLines,
};
use crate::history::transcript::SessionFiles;
use crate::limits;
use openagents_core::{budget::Budget, file};
use std::{
    borrow::Cow,
    fs::File,
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Take},
    path::{Path, PathBuf},
};

/// One line without its end (`\n` or `\r\n`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LogLine<'a> {
    /// From 1, blank lines included.
    pub(crate) number: u64,
    pub(crate) offset: u64,
    pub(crate) bytes: &'a [u8],
    /// False for a last line without a line end, which may still be incomplete.
    pub(crate) complete: bool,
}

impl<'a> LogLine<'a> {
    pub(crate) fn text(&self) -> Cow<'a, str> {
        file::text(self.bytes)
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) long_lines: u64,
    /// The byte cap was reached before the end of the file.
    pub(crate) capped: bool,
    /// The budget was spent before the end of the file.
    pub(crate) stopped: bool,
}

pub(crate) struct Lines<R> {
    reader: BufReader<Take<R>>,
    line: Vec<u8>,
    number: u64,
    offset: u64,
    max_line: usize,
    /// Reading begins inside a line, which is skipped.
    torn: bool,
    /// The last line that was read had a line end.
    whole: bool,
    extent: Extent,
}

impl<R: Read> Lines<R> {
    /// Reads at most `max_bytes` bytes and skips lines longer than `max_line` bytes.
    pub(crate) fn new(reader: R, max_line: usize, max_bytes: u64) -> Self {
        Self {
            reader: BufReader::with_capacity(limits::CHUNK, reader.take(max_bytes)),
            line: Vec::new(),
            number: 0,
            offset: 0,
            max_line,
            torn: false,
            whole: true,
            extent: Extent::default(),
        }
    }

    pub(crate) fn extent(&self) -> Extent {
        self.extent
    }

    pub(crate) fn position(&self) -> u64 {
        self.offset
    }

    /// Returns whether everything up to [`Lines::position`] is whole lines.
    pub(crate) fn ended_whole(&self) -> bool {
        self.whole
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Returns the next non-blank line; `None` at the end, at the cap, or when the budget is spent.
    pub(crate) fn next(&mut self, budget: &Budget) -> io::Result<Option<LogLine<'_>>> {
        loop {
            let offset = self.offset;
            let Some(too_long) = self.read_line(budget)? else { return Ok(None) };
            self.number += 1;
            if std::mem::take(&mut self.torn) {
                continue;
            }
            self.extent.long_lines += u64::from(too_long);
            if too_long || self.line.trim_ascii().is_empty() {
                continue;
            }
            let complete = self.line.ends_with(b"\n");
            let bytes = self.line.trim_ascii();
            return Ok(Some(LogLine { number: self.number, offset, bytes, complete }));
        }
    }

    /// Reads up to the next line end, keeping only the last part of a line that is too long. Returns whether it is;
    /// `None` as for [`Lines::next`].
    fn read_line(&mut self, budget: &Budget) -> io::Result<Option<bool>> {
        self.line.clear();
        let start = self.offset;
        let mut too_long = false;
        loop {
            if self.reader.buffer().is_empty() && budget.spent() {
                self.extent.stopped = true;
                return Ok(None);
            }
            let chunk = match self.reader.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                chunk => chunk?,
            };
            let end = memchr::memchr(b'\n', chunk);
            let read = end.map_or(chunk.len(), |end| end + 1);
            self.line.extend_from_slice(&chunk[..read]);
            self.reader.consume(read);
            self.offset += read as u64;
            let ended = end.is_some();
            self.whole = ended || (read == 0 && self.offset == start && self.whole);
            too_long |= self.line.len() - usize::from(ended) > self.max_line;
            if ended {
                return Ok(Some(too_long));
            }
            if read == 0 {
                break;
            }
            if too_long {
                self.line.clear();
            }
        }
        // One more byte distinguishes the cap from the end of the file.
        let input = self.reader.get_mut();
        self.extent.capped = input.limit() == 0 && input.get_mut().read(&mut [0])? > 0;
        Ok((self.offset > start && !self.extent.capped).then_some(too_long))
    }
}

impl Lines<OpenLog> {
    /// Continues with the last `bytes` of the log, at the start of a line; line numbers begin at 1 again. `None` for a
    /// compressed log, where reading the end costs as much as reading all of it.
    pub(crate) fn tail(self, bytes: u64) -> io::Result<Option<Lines<OpenLog>>> {
        let mut log = self.reader.into_inner().into_inner();
        let Some(end) = log.seek(SeekFrom::End(0))? else { return Ok(None) };
        let from = self.offset.max(end.saturating_sub(bytes));
        log.seek(SeekFrom::Start(from))?;
        let mut tail = Lines::new(log, self.max_line, bytes.saturating_mul(2));
        tail.torn = self.extent.capped || from > self.offset;
        tail.offset = from;
        Ok(Some(tail))
    }
}

pub(crate) enum OpenLog {
    Plain(File),
    /// Can only be read from the start.
    Zstd(zstd::stream::read::Decoder<'static, BufReader<Compressed>>),
    /// Several files, one after the other.
    Joined(Joined<OpenLog>),
    /// The records of a format that is not line-based, one per line.
    Records(RecordLog),
}

/// The records of a session that is not line-based.
pub(crate) struct RecordLog {
    lines: io::Cursor<Vec<u8>>,
    undone: UndoneLines,
    survey: Option<LogSurvey>,
}

impl OpenLog {
    /// Moves to a byte offset and returns it; `None` for a compressed log.
    pub(crate) fn seek(&mut self, to: SeekFrom) -> io::Result<Option<u64>> {
        match self {
            Self::Plain(file) => file.seek(to).map(Some),
            Self::Joined(files) => files.seek(to).map(Some),
            Self::Records(records) => records.lines.seek(to).map(Some),
            Self::Zstd(_) => Ok(None),
        }
    }

    /// Returns a log of records, one per line; `undone` has those that were undone.
    pub(crate) fn of_records(lines: Vec<u8>, undone: UndoneLines) -> Self {
        Self::Records(RecordLog { lines: io::Cursor::new(lines), undone, survey: None })
    }

    /// Attaches a survey of the session, for records that do not show what was found in it.
    pub(crate) fn surveyed(mut self, met: LogSurvey) -> Self {
        if let Self::Records(RecordLog { survey, .. }) = &mut self {
            *survey = Some(met);
        }
        self
    }

    /// Returns the survey of the session; `None` if its records show what is in it.
    pub(crate) fn survey(&self) -> Option<&LogSurvey> {
        match self {
            Self::Records(records) => records.survey.as_ref(),
            _ => None,
        }
    }

    /// Returns the records that were undone; empty for files of lines, whose formats find them.
    pub(crate) fn undone(&self) -> UndoneLines {
        match self {
            Self::Records(records) => records.undone.clone(),
            _ => UndoneLines::default(),
        }
    }

    pub(crate) fn is_file_of_lines(&self) -> bool {
        matches!(self, Self::Plain(_) | Self::Joined(_))
    }

    /// Returns the log and its size in bytes. A compressed log is read into memory first.
    pub(crate) fn sized(mut self) -> io::Result<(Self, u64)> {
        let mut log = match self {
            Self::Zstd(_) => {
                let mut bytes = Vec::new();
                self.by_ref().take(limits::DOCUMENT).read_to_end(&mut bytes)?;
                Self::of_records(bytes, UndoneLines::default())
            }
            log => log,
        };
        let size = log.seek(SeekFrom::End(0))?.unwrap_or(0);
        Ok((log, size))
    }
}

impl Read for OpenLog {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(file) => file.read(buffer),
            Self::Zstd(decoder) => {
                let read = decoder.read(buffer)?;
                decoder.get_mut().get_mut().allow(read);
                Ok(read)
            }
            Self::Joined(files) => files.read(buffer),
            Self::Records(records) => records.lines.read(buffer),
        }
    }
}

pub(crate) fn open_all(files: SessionFiles<'_>) -> io::Result<OpenLog> {
    if files.earlier.is_empty() {
        return open(files.newest);
    }
    open_joined(files.oldest_first()).map(OpenLog::Joined)
}

/// Opens files, oldest first, as one log. Missing files are left out: agents move and delete logs at any time.
pub(crate) fn open_joined<'a>(paths: impl Iterator<Item = &'a Path>) -> io::Result<Joined<OpenLog>> {
    let (mut logs, mut failed) = (Vec::new(), None);
    for path in paths {
        match open(path).and_then(OpenLog::sized) {
            Ok(log) => logs.push(log),
            Err(error) => failed = Some(error),
        }
    }
    match failed {
        Some(error) if logs.is_empty() => Err(error),
        _ => Joined::new(logs),
    }
}

impl Positioned for OpenLog {
    fn go_to(&mut self, offset: u64) -> io::Result<()> {
        self.seek(SeekFrom::Start(offset)).map(drop)
    }
}

/// The bytes of a compressed log. The decoder does not return until it has content, and skippable and empty frames (RFC
/// 8878, 3.1.2) have none: a log that consists of them fails after a bounded number of bytes.
pub(crate) struct Compressed {
    file: File,
    /// Bytes that may still be read.
    left: u64,
}

impl Compressed {
    /// Allows more bytes after `content` bytes were decoded. The smallest block with content has 3 bytes of header for
    /// one of content.
    fn allow(&mut self, content: usize) {
        self.left = self.left.saturating_add((content as u64).saturating_mul(4));
    }
}

impl Read for Compressed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "a compressed log with frames without content",
            ));
        }
        let read = (&mut self.file).take(self.left).read(buffer)?;
        self.left -= read as u64;
        Ok(read)
    }
}

/// Opens a log. Codex compresses and decompresses cold logs at any time, so a missing log is also tried under its other
/// name.
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
        Ok(OpenLog::Zstd(zstd::stream::read::Decoder::new(Compressed { file, left: limits::ZSTD_SILENT })?))
    } else {
        Ok(OpenLog::Plain(file))
    }
}

/// Returns whether a log's name has the suffix of a compressed one.
pub(crate) fn is_zstd(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "zst")
}

/// Returns `x.jsonl.zst` for `x.jsonl`, and vice versa.
fn other_name(path: &Path) -> Option<PathBuf> {
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
    use openagents_core::CancellationToken;
    use std::time::Duration;

    fn read_lines(bytes: &[u8], max_line: usize, max_bytes: u64) -> (Vec<(u64, u64, String, bool)>, Extent) {
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
    fn lines_are_numbered_and_torn_line_is_marked() {
        let (lines, extent) = read_lines(b"a\r\n\nbc\nd", 100, 100);
        assert_eq!(
            lines,
            vec![(1, 0, "a".into(), true), (3, 4, "bc".into(), true), (4, 7, "d".into(), false)]
        );
        assert_eq!(extent, Extent::default());
    }

    #[test]
    fn lines_replace_invalid_utf8() {
        let line = LogLine { number: 1, offset: 0, bytes: b"a\xffb", complete: true };
        assert_eq!(line.text(), "a\u{fffd}b");
    }

    #[test]
    fn lines_skip_long_lines() {
        let text = [b"x".repeat(200_000), b"\nok\n".to_vec(), b"y".repeat(200_000)].concat();
        let (lines, extent) = read_lines(&text, 1000, 1 << 20);
        assert_eq!(lines, vec![(2, 200_001, "ok".into(), true)]);
        assert_eq!(extent.long_lines, 2);
    }

    #[test]
    fn lines_stop_at_cap_without_torn_line() {
        let (lines, extent) = read_lines(b"aa\nbbbb\n", 100, 5);
        assert_eq!(lines, vec![(1, 0, "aa".into(), true)]);
        assert!(extent.capped);
        let (lines, extent) = read_lines(b"aa\nbb\n", 100, 6);
        assert_eq!(lines.len(), 2);
        assert!(!extent.capped);
    }

    #[test]
    fn lines_stop_when_budget_is_spent() {
        let cancel = CancellationToken::new();
        cancel.cancel();
        let mut lines = Lines::new(&b"a\n"[..], 10, 10);
        assert_eq!(lines.next(&Budget::within(Duration::from_secs(60), &cancel)).unwrap(), None);
        assert!(lines.extent().stopped);
    }

    /// Regression: the decoder read gigabytes of skippable frames before it returned, and the list waited for it.
    #[test]
    fn compressed_log_without_content_fails_early() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.jsonl.zst");
        let skippable = |bytes: u32| [&0x184d_2a50_u32.to_le_bytes()[..], &bytes.to_le_bytes()].concat();
        let content = zstd::bulk::compress(b"{}\n", 3).unwrap();
        let empty = zstd::bulk::compress(b"", 3).unwrap();
        let limit = limits::ZSTD_SILENT as usize;
        let long = [skippable(2 * limits::ZSTD_SILENT as u32), vec![0; 2 * limit]].concat();
        let many = [skippable(8), vec![0; 8]].concat().repeat(limit / 8);
        let rows = [
            ("content", content.clone(), Some(1)),
            (
                "a seek table",
                [content.clone(), skippable(900), vec![0; 900], content.clone()].concat(),
                Some(2),
            ),
            ("random lines", zstd::bulk::compress(&noise(8 * limit), 3).unwrap(), Some(8 * limit / 64)),
            ("one long frame", long.clone(), None),
            ("many frames", many, None),
            ("empty frames", empty.repeat(2 * limit / empty.len()), None),
            ("content before", [content, long].concat(), None),
        ];
        for (what, bytes, expected) in rows {
            std::fs::write(&path, &bytes).unwrap();
            let budget = Budget::within(Duration::from_secs(60), &CancellationToken::new());
            let mut lines = Lines::new(open(&path).unwrap(), 100, u64::MAX);
            let mut count = 0;
            let ended = loop {
                match lines.next(&budget) {
                    Ok(Some(_)) => count += 1,
                    ended => break ended.map(|_| count),
                }
            };
            assert_eq!(ended.ok(), expected, "{what}");
            assert_eq!(open(&path).unwrap().sized().is_ok(), expected.is_some(), "{what}");
        }
    }

    /// Returns lines of 63 random bytes.
    fn noise(bytes: usize) -> Vec<u8> {
        let mut random = fastrand::Rng::with_seed(7);
        let line = |at| if at % 64 == 63 { b'\n' } else { random.u8(b' '..b'~') };
        (0..bytes).map(line).collect()
    }

    #[test]
    fn other_name_toggles_zstd_suffix() {
        assert_eq!(other_name(Path::new("/a/r.jsonl")), Some(PathBuf::from("/a/r.jsonl.zst")));
        assert_eq!(other_name(Path::new("/a/r.jsonl.zst")), Some(PathBuf::from("/a/r.jsonl")));
    }
}
