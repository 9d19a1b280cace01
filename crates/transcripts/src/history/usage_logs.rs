//! Finds the logs that may report requests, and reads what is new in them.

use super::{
    formats,
    listing_cache::FileStamp,
    log::{
        lines::{self, Lines, OpenLog},
        log_file::LogFile,
    },
    logs::{History, Source},
    requests::{FoundUsage, LineReader, UsageSource},
    transcript::Provider,
};
use crate::limits;
use openagents_core::{budget::Budget, parallel};
use std::{
    io::{self, Read as _, SeekFrom},
    path::{Path, PathBuf},
    sync::Arc,
};
use xxhash_rust::xxh3::xxh3_64;

/// A log that may report requests.
#[derive(Debug, Clone)]
pub struct UsageLog {
    pub provider: Provider,
    file: LogFile,
    source: UsageSource,
}

/// Where requests were reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsagePlace {
    /// The id of the log in the store.
    pub log: i64,
    pub provider: Provider,
    pub workspace: Option<PathBuf>,
    pub path: PathBuf,
}

/// How far a log was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadUpTo {
    /// Bytes from the start of the log, at the end of a line.
    pub bytes: u64,
    /// A hash of the bytes before.
    pub tail: i64,
    /// The state of the reader.
    pub state: String,
}

/// The result of reading a log.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadUsage {
    pub found: FoundUsage,
    /// It was read from its start.
    pub is_whole: bool,
    /// Where to continue; `None` if it has to be read from its start.
    pub up_to: Option<ReadUpTo>,
    /// The budget was spent before the end.
    pub stopped: bool,
}

/// Number of bytes that show whether a log was only appended to.
const TAIL: u64 = 256;

impl UsageLog {
    pub fn path(&self) -> &Path {
        &self.file.path
    }

    /// The id of the session in the log's name.
    pub fn id(&self) -> &str {
        &self.file.id
    }

    pub fn stamp(&self) -> FileStamp {
        self.file.stamp
    }

    /// Reads the requests of the log, from where it was read up to if it has only grown since. Blocks.
    pub fn read(&self, since: Option<&ReadUpTo>, budget: &Budget) -> io::Result<ReadUsage> {
        let reader = match self.source {
            UsageSource::Whole(read) => {
                let found = read(&self.file, budget)?;
                return match budget.spent() {
                    true => Err(io::Error::new(io::ErrorKind::TimedOut, "the time for reading is over")),
                    false => Ok(ReadUsage { found, is_whole: true, up_to: None, stopped: false }),
                };
            }
            UsageSource::Lines(reader) => reader,
        };
        let mut found = FoundUsage::default();
        for path in &self.file.earlier {
            let mut reader = reader(path, &self.file.id, None);
            read_lines(lines::open(path)?, 0, reader.as_mut(), &mut found, budget)?;
        }
        let path = &self.file.path;
        let mut log = lines::open(path)?;
        let since = since
            .filter(|since| self.file.earlier.is_empty() && tail(&mut log, since.bytes) == Some(since.tail));
        let mut reader = reader(path, &self.file.id, since.map(|since| since.state.as_str()));
        let from = since.map_or(0, |since| since.bytes);
        if log.seek(SeekFrom::Start(from))?.is_none() {
            log = lines::open(path)?;
        }
        let read = read_lines(log, from, reader.as_mut(), &mut found, budget)?;
        reader.finish(&mut found);
        let up_to = lines::open(path).ok().filter(|_| self.file.earlier.is_empty()).and_then(|mut log| {
            Some(ReadUpTo { bytes: read.bytes, tail: tail(&mut log, read.bytes)?, state: read.state })
        });
        Ok(ReadUsage { found, is_whole: since.is_none(), up_to, stopped: read.stopped })
    }
}

struct ReadTo {
    bytes: u64,
    state: String,
    stopped: bool,
}

/// Reads lines from a position on. A last line without a line end counts, and is read again the next time.
fn read_lines(
    log: OpenLog,
    from: u64,
    reader: &mut dyn LineReader,
    found: &mut FoundUsage,
    budget: &Budget,
) -> io::Result<ReadTo> {
    let mut lines = Lines::new(log, limits::SUMMARY_LINE, u64::MAX);
    let mut end = ReadTo { bytes: from, state: String::new(), stopped: false };
    let mut torn = None;
    while let Some(line) = lines.next(budget)? {
        if !line.complete {
            torn = Some((from + line.offset, reader.state()));
        }
        reader.line(line.bytes, found);
    }
    end.stopped = lines.extent().stopped;
    (end.bytes, end.state) = torn.unwrap_or_else(|| (from + lines.position(), reader.state()));
    Ok(end)
}

/// Returns a hash of the last bytes before a position; `None` if the log is shorter or compressed.
fn tail(log: &mut OpenLog, position: u64) -> Option<i64> {
    let from = position.saturating_sub(TAIL);
    log.seek(SeekFrom::Start(from)).ok()??;
    let mut bytes = Vec::new();
    log.by_ref().take(position - from).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 == position - from).then(|| xxh3_64(&bytes).cast_signed())
}

impl History {
    /// Finds the logs that may report requests, except those of excluded agents and those that are known to be excluded.
    /// Blocks.
    pub fn usage_logs(&self, budget: &Budget) -> Vec<UsageLog> {
        let excluded = self.excluded.check();
        let marks = if excluded.has_folders() { self.cache.marks() } else { Arc::default() };
        let sources = self.sources(None);
        let find = |(): &mut (), at: usize| {
            let Source { provider, format, root } = &sources[at];
            let source = format.usage?;
            let found = format.every_log.unwrap_or(format.discover)(root, budget).into_iter();
            Some(found.map(|file| UsageLog { provider: *provider, file, source }).collect::<Vec<_>>())
        };
        let found = parallel::map(sources.len(), limits::LIST_THREADS, || true, || (), find);
        let is_known = |log: &UsageLog| !marks.is_empty() && marks.contains(&excluded.mark(&log.file));
        found.into_iter().flatten().flatten().filter(|log| !is_known(log)).collect()
    }

    /// Returns whether the user excluded a log whose requests were made in `workspace`, and remembers it if so. Blocks.
    pub fn excludes_usage(&self, log: &UsageLog, workspace: Option<&Path>) -> bool {
        let mut excluded = self.excluded.check();
        let is_excluded = excluded.holds_log(log.provider, workspace, log.path());
        if is_excluded {
            self.cache.mark(&[excluded.mark(&log.file)]);
        }
        is_excluded
    }

    /// Returns those of the logs that the user excluded. Blocks.
    pub fn excluded_logs<'a>(&self, logs: &'a [UsagePlace]) -> Vec<&'a UsagePlace> {
        let mut excluded = self.excluded.check();
        let is_excluded =
            |place: &&UsagePlace| excluded.holds_log(place.provider, place.workspace.as_deref(), &place.path);
        logs.iter().filter(is_excluded).collect()
    }

    /// Returns whether an agent has sessions whose logs do not report tokens.
    pub fn has_sessions_without_usage(&self, provider: Provider, budget: &Budget) -> bool {
        formats::spec(provider).usage.is_none()
            && self.discover(Some(provider), budget).iter().any(|folder| !folder.files.is_empty())
    }
}
