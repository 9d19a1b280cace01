//! Shared by the formats: logs that were found, their summaries, ids and times.

use super::json::Node;
use crate::history::{
    listing_cache::FileStamp,
    transcript::{Provider, SessionFiles, Transcript, Unknown},
};
use serde::{Deserialize, Serialize};
use std::{
    io,
    path::{Component, Path, PathBuf},
};
use xxhash_rust::xxh32::xxh32;

/// A log that was found but not opened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LogFile {
    pub(crate) path: PathBuf,
    /// The files before it, oldest first, if the agent continued in another file.
    pub(crate) earlier: Vec<PathBuf>,
    /// State of the files when they were found: their total bytes, and the latest change.
    pub(crate) stamp: FileStamp,
    /// The agent itself records when the session changed, so `stamp` does not have the time of a file.
    pub(crate) is_dated: bool,
    pub(crate) id: String,
    pub(crate) subagent: bool,
    pub(crate) archived: bool,
}

impl LogFile {
    /// Stats a log; `None` if it is missing or not a regular file.
    pub(crate) fn stat(path: PathBuf, id: &str, subagent: bool, archived: bool) -> Option<Self> {
        let metadata = std::fs::metadata(&path).ok().filter(std::fs::Metadata::is_file)?;
        let stamp = FileStamp { size: metadata.len(), mtime_ns: changed_at(&metadata)? };
        Some(Self { path, earlier: vec![], stamp, is_dated: false, id: id.to_owned(), subagent, archived })
    }

    /// Includes the state of another file of the session, if there is one.
    pub(crate) fn changes_with(mut self, other: &Path) -> Self {
        if let Some(other) = Self::stat(other.to_owned(), &self.id, false, false) {
            self.stamp.size += other.stamp.size;
            self.stamp.mtime_ns = self.stamp.mtime_ns.max(other.stamp.mtime_ns);
        }
        self
    }

    /// Joins the files of one session, oldest first; `None` without files.
    pub(crate) fn joined(files: Vec<Self>) -> Option<Self> {
        let size = files.iter().map(|file| file.stamp.size).sum();
        let mtime_ns = files.iter().map(|file| file.stamp.mtime_ns).max()?;
        let mut earlier: Vec<Self> = files;
        let newest = earlier.pop()?;
        let earlier = earlier.into_iter().map(|file| file.path).collect();
        Some(Self { earlier, stamp: FileStamp { size, mtime_ns }, ..newest })
    }

    pub(crate) fn files(&self) -> SessionFiles<'_> {
        SessionFiles { newest: &self.path, earlier: &self.earlier }
    }

    /// Returns a session in a database: its path is below that of the file. `None` if its id cannot be a file name.
    pub(crate) fn in_database(database: &Path, id: &str, stamp: FileStamp, subagent: bool) -> Option<Self> {
        let mut parts = Path::new(id).components();
        let is_name = matches!(parts.next(), Some(Component::Normal(name)) if name == id);
        let path = database.join(id);
        let id = id.to_owned();
        is_name.then_some(Self {
            path,
            earlier: vec![],
            stamp,
            is_dated: true,
            id,
            subagent,
            archived: false,
        })
    }

    pub(crate) fn database_and_id(path: &Path) -> io::Result<(&Path, &str)> {
        let id = path.file_name().and_then(|name| name.to_str());
        path.parent()
            .zip(id)
            .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "not a session in a database"))
    }

    /// Returns the current state of a listed log; for a session in a database, the state when it was listed.
    pub(crate) fn of_transcript(transcript: &Transcript) -> Self {
        let (id, subagent, archived) = (&transcript.id, transcript.subagent, transcript.archived);
        let paths = transcript.earlier.iter().chain([&transcript.file_path]);
        let files = paths.filter_map(|path| Self::stat(path.clone(), id, subagent, archived)).collect();
        Self::joined(files).unwrap_or_else(|| Self {
            path: transcript.file_path.clone(),
            earlier: transcript.earlier.clone(),
            stamp: FileStamp { size: 0, mtime_ns: transcript.updated_at.saturating_mul(1_000_000) },
            is_dated: true,
            id: id.clone(),
            subagent,
            archived,
        })
    }

    /// Returns the time of the last change, in milliseconds since the epoch.
    pub(crate) fn changed_at(&self) -> i64 {
        self.stamp.mtime_ns.div_euclid(1_000_000)
    }

    pub(crate) fn unread(&self, provider: Provider) -> Transcript {
        Transcript {
            id: self.id.clone(),
            provider,
            title: None,
            named: false,
            cwd: None,
            branch: None,
            model: None,
            created_at: None,
            updated_at: self.changed_at(),
            file_path: self.path.clone(),
            earlier: self.earlier.clone(),
            size: self.stamp.size,
            changed_at: self.changed_at(),
            user_turns: None,
            tokens: None,
            hidden: self.subagent || self.archived,
            subagent: self.subagent,
            archived: self.archived,
            continues: None,
            first_line: None,
            bad_lines: 0,
            version: None,
            unknown: Unknown::default(),
            gone: None,
            moved_to: None,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Summarised {
    pub(crate) row: Transcript,
    /// The title if the agent or the user gave it; `row` may have a prompt instead.
    pub(crate) given_title: Option<String>,
}

/// Returns the time of a file's or a folder's last change, in nanoseconds since the epoch.
pub(crate) fn changed_at(metadata: &std::fs::Metadata) -> Option<i64> {
    let modified = jiff::Timestamp::try_from(metadata.modified().ok()?).unwrap_or(jiff::Timestamp::MAX);
    Some(modified.as_nanosecond().clamp(i64::MIN.into(), i64::MAX.into()) as i64)
}

/// Finds the log of another session by its id.
pub(crate) type Locate<'a> = &'a (dyn Fn(&str) -> Option<PathBuf> + Sync);

/// Returns whether a text is a UUID with hyphens, the format of both agents' ids.
pub(crate) fn is_uuid(text: &str) -> bool {
    text.len() == uuid::fmt::Hyphenated::LENGTH && uuid::Uuid::try_parse(text).is_ok()
}

/// Hashes the id of a line. Two 32-bit hashes are enough to distinguish the lines on one machine.
pub(crate) fn origin(id: &str) -> u64 {
    u64::from(xxh32(id.as_bytes(), 0)) << 32 | u64::from(xxh32(id.as_bytes(), 1))
}

/// Hashes the id of a line and its time, which copies keep. An id alone may be as short as `u1`.
pub(crate) fn dated_origin(id: Option<&str>, at: Option<i64>) -> Option<u64> {
    id.map(|id| origin(&format!("{id} {at:?}")))
}

/// Parses an RFC 3339 time, or a number of milliseconds or seconds, as milliseconds since the epoch.
pub(crate) fn millis(node: Option<&Node<'_>>) -> Option<i64> {
    match node? {
        Node::Text(text) => text.parse().ok().map(jiff::Timestamp::as_millisecond),
        // Seconds up to the year 5138, milliseconds from 1973 on.
        Node::Number(number) if *number > 1e11 => Some(*number as i64),
        Node::Number(number) if *number > 0.0 => Some((*number * 1000.0) as i64),
        _ => None,
    }
}

/// Parses a time, in UTC if it has no zone, as milliseconds since the epoch.
pub(crate) fn utc_millis(text: &str) -> Option<i64> {
    let text = text.trim();
    let civil = || text.parse::<jiff::civil::DateTime>().ok()?.to_zoned(jiff::tz::TimeZone::UTC).ok();
    let time = text.parse().ok().or_else(|| civil().map(|time| time.timestamp()));
    time.map(jiff::Timestamp::as_millisecond)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_without_a_zone_are_in_utc() {
        let expected = Some(1_772_355_600_000);
        for text in ["2026-03-01 09:00:00", "2026-03-01T09:00:00.000", "2026-03-01T10:00:00+01:00"] {
            assert_eq!(utc_millis(text), expected, "{text}");
        }
        assert_eq!(utc_millis("yesterday"), None);
    }
}
