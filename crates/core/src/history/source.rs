//! The trait of foreign formats: finding files, summarising one and decoding one. Shared logic (caching, filters,
//! order) is in [`super::list`].

use super::{
    event::{Decoded, Event},
    index::FileStamp,
    transcript::{Provider, Transcript},
};
use crate::budget::Budget;
use std::{
    collections::HashMap,
    fmt,
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

/// Directory entries read between two checks of the clock.
pub(super) const ENTRIES_BETWEEN_LOOKS: usize = 256;

/// A log that was found but not opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LogFile {
    /// Path of the log.
    pub(crate) path: PathBuf,
    /// State of the file when it was found.
    pub(crate) stamp: FileStamp,
    /// Id of the session, from the file's name.
    pub(crate) id: String,
    /// In a folder of sub-agents.
    pub(crate) subagent: bool,
    /// In a folder of archived sessions.
    pub(crate) archived: bool,
}

impl LogFile {
    /// Stats the log of a row again; `None` if it is missing.
    pub(crate) fn of(row: &Transcript) -> Option<Self> {
        let path = row.file_path.clone();
        let stamp = stamp(&path)?;
        Some(Self { path, stamp, id: row.id.clone(), subagent: row.subagent, archived: false })
    }

    /// Returns the time of the last change, in milliseconds since the epoch.
    pub(crate) fn updated_at(&self) -> i64 {
        self.stamp.mtime_ns.div_euclid(1_000_000)
    }

    /// Returns the row of an unread log.
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

/// The logs of one agent.
pub(crate) trait Source: fmt::Debug + Send + Sync {
    /// Returns the agent of these logs.
    fn provider(&self) -> Provider;

    /// Returns the root folder.
    fn root(&self) -> &Path;

    /// Finds all logs, or as many as the budget allows; opens none.
    fn discover(&self, budget: &Budget) -> Vec<LogFile>;

    /// Returns titles stored outside of the logs, by session id.
    fn names(&self) -> HashMap<String, String>;

    /// Summarises a log from its head and tail.
    fn summarise(&self, file: &LogFile, locate: Locate<'_>, budget: &Budget) -> Transcript;

    /// Returns the title in a log given by the agent or a person, as in [`Source::summarise`].
    fn given_title(&self, file: &LogFile, budget: &Budget) -> Option<String>;

    /// Returns a line decoder for this log.
    fn decoder(&self, path: &Path, locate: Locate<'_>, budget: &Budget) -> Box<dyn Decoder>;
}

/// Turns lines into events. May keep state between lines.
pub(crate) trait Decoder {
    /// Decodes one line and adds its events.
    fn line(&mut self, bytes: &[u8], number: u64, events: &mut Vec<Event>) -> Decoded;
}

/// Stats a file; `None` if it is missing or not a regular file.
pub(crate) fn stamp(path: &Path) -> Option<FileStamp> {
    let metadata = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
    let mtime_ns = match metadata.modified().ok()?.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_nanos()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, |nanos| -nanos),
    };
    Some(FileStamp { size: metadata.len(), mtime_ns })
}

/// Returns whether a text is a UUID, the format of both agents' ids.
pub(crate) fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Parses an RFC 3339 time, or a number of milliseconds or seconds, as milliseconds since the epoch.
pub(crate) fn millis(node: Option<&super::json::Node<'_>>) -> Option<i64> {
    match node? {
        super::json::Node::Text(text) => {
            text.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_millisecond)
        }
        // Seconds up to the year 5138, milliseconds from 1973 on.
        super::json::Node::Number(number) if *number > 1e11 => Some(*number as i64),
        super::json::Node::Number(number) if *number > 0.0 => Some((*number * 1000.0) as i64),
        _ => None,
    }
}
