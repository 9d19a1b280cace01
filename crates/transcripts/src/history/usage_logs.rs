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
    settings::ExclusionCheck,
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

/// The part of a log that was read.
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
    /// Reading stopped before the end: the budget was spent, or there are many requests.
    pub stopped: bool,
}

/// The logs and folders that the user excluded, with cached lookups.
#[derive(Debug)]
pub struct UsageExclusion<'a>(ExclusionCheck<'a>);

impl UsageExclusion<'_> {
    pub fn is_empty(&self) -> bool {
        !self.0.has_folders() && !self.0.has_agents()
    }

    pub fn has_folders(&self) -> bool {
        self.0.has_folders()
    }

    /// Returns whether a log of a session that ran in `workspace` is excluded. Blocks.
    pub fn holds(&mut self, provider: Provider, workspace: Option<&Path>, log: &Path) -> bool {
        self.0.holds_log(provider, workspace, log)
    }

    /// Returns whether requests made in a folder are excluded. Blocks.
    pub fn holds_folder(&mut self, folder: &Path) -> bool {
        self.0.has_folders() && folder.is_absolute() && self.0.holds_folder(folder)
    }
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

    /// Returns the directory in which the session ran, as the list of sessions has it. Blocks.
    pub fn workspace(&self, budget: &Budget) -> Option<PathBuf> {
        formats::spec(self.provider).summarise(&self.file, &|_| None, budget).row.cwd
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
        // A log of lines is one file: `every_log` doesn't join those of a session.
        let path = &self.file.path;
        let mut log = lines::open(path)?;
        let since = since.filter(|since| tail(&mut log, since.bytes) == Some(since.tail));
        let mut reader = reader(path, &self.file.id, since.map(|since| since.state.as_str()));
        let from = since.map_or(0, |since| since.bytes);
        if log.seek(SeekFrom::Start(from))?.is_none() {
            log = lines::open(path)?;
        }
        let mut found = FoundUsage::default();
        let ReadTo { bytes, state, stopped } = read_lines(log, from, reader.as_mut(), &mut found, budget)?;
        reader.finish(&mut found);
        let up_to = lines::open(path).ok().and_then(|mut log| tail(&mut log, bytes));
        let up_to = up_to.map(|tail| ReadUpTo { bytes, tail, state });
        Ok(ReadUsage { found, is_whole: since.is_none(), up_to, stopped })
    }
}

struct ReadTo {
    bytes: u64,
    state: String,
    stopped: bool,
}

/// Maximum number of requests that are read at once, to bound the memory for them.
const REQUESTS: usize = 100_000;

/// Reads lines from a position on. A last line without a line end counts, and is read again the next time.
fn read_lines(
    log: OpenLog,
    from: u64,
    reader: &mut dyn LineReader,
    found: &mut FoundUsage,
    budget: &Budget,
) -> io::Result<ReadTo> {
    let mut lines = Lines::new(log, limits::SUMMARY_LINE, u64::MAX);
    loop {
        // Reading may stop in the middle of the next line.
        let bytes = from + lines.position();
        let is_full = found.requests.len() >= REQUESTS;
        let line = if is_full { None } else { lines.next(budget)? };
        let Some(line) = line else {
            let stopped = is_full || lines.extent().stopped;
            let bytes = if stopped { bytes } else { from + lines.position() };
            return Ok(ReadTo { bytes, state: reader.state(), stopped });
        };
        if !line.complete {
            let end = ReadTo { bytes: from + line.offset, state: reader.state(), stopped: false };
            reader.line(line.bytes, found);
            return Ok(end);
        }
        reader.line(line.bytes, found);
    }
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
        let excluded = self.exclusions();
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

    /// Returns the current exclusions, to check logs. Blocks.
    pub fn usage_exclusion(&self) -> UsageExclusion<'_> {
        UsageExclusion(self.exclusions())
    }

    /// Returns whether an agent has sessions whose logs do not report tokens.
    pub fn has_sessions_without_usage(&self, provider: Provider, budget: &Budget) -> bool {
        formats::spec(provider).usage.is_none()
            && self.discover(Some(provider), budget).iter().any(|folder| !folder.files.is_empty())
    }
}
