//! The trait behind which every foreign format stands. Finding files, summing one up and reading one to the end are
//! three separate things; what is common to all formats (caching, filters, order) is in [`super::list`].

use super::{Event, FileStamp, Provider, Transcript, event::Decoded};
use crate::budget::Budget;
use std::{
    collections::HashMap,
    fmt,
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

/// Entries of a folder between two looks at the clock: one look costs as much as a few entries.
pub(super) const ENTRIES_BETWEEN_LOOKS: usize = 256;

/// A log that was found but not opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LogFile {
    /// Where it is.
    pub(crate) path: PathBuf,
    /// How it was then.
    pub(crate) stamp: FileStamp,
    /// Id of the session, from the file's name.
    pub(crate) id: String,
    /// It is where sub-agents write.
    pub(crate) subagent: bool,
    /// It is where archived sessions are kept.
    pub(crate) archived: bool,
}

impl LogFile {
    /// Looks at the log of a row again; `None` when it is gone.
    pub(crate) fn of(row: &Transcript) -> Option<Self> {
        let path = row.file_path.clone();
        let stamp = stamp(&path)?;
        Some(Self { path, stamp, id: row.id.clone(), subagent: row.subagent, archived: false })
    }

    /// Returns the time of the last change, in milliseconds since the epoch.
    pub(crate) fn updated_at(&self) -> i64 {
        self.stamp.mtime_ns.div_euclid(1_000_000)
    }

    /// Returns the row of a log that nobody has opened yet.
    pub(crate) fn unread(&self, provider: Provider) -> Transcript {
        Transcript {
            id: self.id.clone(),
            provider,
            title: None,
            cwd: None,
            branch: None,
            model: None,
            created_at: None,
            updated_at: self.updated_at(),
            file_path: self.path.clone(),
            user_turns: None,
            tokens: None,
            hidden: self.subagent || self.archived,
            subagent: self.subagent,
            bad_lines: 0,
        }
    }
}

/// Finds the log of another session by its id.
pub(crate) type Locate<'a> = &'a (dyn Fn(&str) -> Option<PathBuf> + Sync);

/// Reads the logs of one agent.
pub(crate) trait Source: fmt::Debug + Send + Sync {
    /// Returns whose logs these are.
    fn provider(&self) -> Provider;

    /// Returns the folder that holds all of them.
    fn root(&self) -> &Path;

    /// Finds every log, or those that the budget leaves time for; opens none.
    fn discover(&self, budget: &Budget) -> Vec<LogFile>;

    /// Returns titles that are kept outside of the logs, by session id.
    fn names(&self) -> HashMap<String, String>;

    /// Sums one log up from its head and tail.
    fn summarise(&self, file: &LogFile, locate: Locate<'_>, budget: &Budget) -> Transcript;

    /// Returns the title in a log that the agent or a person gave it, as [`Source::summarise`] finds it.
    fn given_title(&self, file: &LogFile, budget: &Budget) -> Option<String>;

    /// Returns what reads this log line by line.
    fn decoder(&self, path: &Path, locate: Locate<'_>, budget: &Budget) -> Box<dyn Decoder>;
}

/// Turns lines into events. A decoder may remember earlier lines.
pub(crate) trait Decoder {
    /// Reads one line and adds what it says.
    fn line(&mut self, bytes: &[u8], number: u64, events: &mut Vec<Event>) -> Decoded;
}

/// Looks at a file; `None` when it is gone or no regular file.
pub(crate) fn stamp(path: &Path) -> Option<FileStamp> {
    let metadata = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
    let mtime_ns = match metadata.modified().ok()?.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_nanos()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, |nanos| -nanos),
    };
    Some(FileStamp { size: metadata.len(), mtime_ns })
}

/// Returns whether a text has the form of a UUID, the form of the ids of both agents.
pub(crate) fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Reads an RFC 3339 time, or a number of milliseconds or seconds, as milliseconds since the epoch.
pub(crate) fn millis(node: Option<&super::json::Node<'_>>) -> Option<i64> {
    match node? {
        super::json::Node::Text(text) => {
            text.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_millisecond)
        }
        // Seconds until the year 5138, milliseconds from 1973 on.
        super::json::Node::Number(number) if *number > 1e11 => Some(*number as i64),
        super::json::Node::Number(number) if *number > 0.0 => Some((*number * 1000.0) as i64),
        _ => None,
    }
}
