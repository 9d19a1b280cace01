//! Shared by the formats: a log that was found, its summary, ids and times.

use super::{
    index::FileStamp,
    json::Node,
    transcript::{Provider, Transcript},
};
use std::{
    io,
    path::{Component, Path, PathBuf},
};
use xxhash_rust::xxh32::xxh32;

/// A log that was found but not opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LogFile {
    pub(crate) path: PathBuf,
    /// State of the file when it was found.
    pub(crate) stamp: FileStamp,
    /// Id of the session, from the file's name.
    pub(crate) id: String,
    pub(crate) subagent: bool,
    pub(crate) archived: bool,
}

impl LogFile {
    /// Stats a log; `None` if it is missing or not a regular file.
    pub(crate) fn stat(path: PathBuf, id: &str, subagent: bool, archived: bool) -> Option<Self> {
        let metadata = std::fs::metadata(&path).ok().filter(std::fs::Metadata::is_file)?;
        let stamp = FileStamp { size: metadata.len(), mtime_ns: changed_at(&metadata)? };
        Some(Self { path, stamp, id: id.to_owned(), subagent, archived })
    }

    /// Returns a session inside of a database: its path is below that of the file. `None` if its id cannot be a file's name.
    pub(crate) fn in_database(database: &Path, id: &str, stamp: FileStamp, subagent: bool) -> Option<Self> {
        let mut parts = Path::new(id).components();
        let is_name = matches!(parts.next(), Some(Component::Normal(name)) if name == id);
        is_name.then(|| Self { path: database.join(id), stamp, id: id.to_owned(), subagent, archived: false })
    }

    /// Splits the path of a session inside of a database.
    pub(crate) fn database_and_id(path: &Path) -> io::Result<(&Path, &str)> {
        let id = path.file_name().and_then(|name| name.to_str());
        path.parent()
            .zip(id)
            .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "not a session in a database"))
    }

    /// Returns a listed log as it is now; one inside of a database as it was listed.
    pub(crate) fn of(transcript: &Transcript) -> Self {
        let (path, id) = (&transcript.file_path, &transcript.id);
        Self::stat(path.clone(), id, transcript.subagent, false).unwrap_or_else(|| Self {
            path: path.clone(),
            stamp: FileStamp { size: 0, mtime_ns: transcript.updated_at.saturating_mul(1_000_000) },
            id: id.clone(),
            subagent: transcript.subagent,
            archived: false,
        })
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
            size: self.stamp.size,
            user_turns: None,
            tokens: None,
            hidden: self.subagent || self.archived,
            subagent: self.subagent,
            bad_lines: 0,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Summarised {
    pub(crate) row: Transcript,
    /// The title if the agent or a person gave it; `row` may have a prompt instead.
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

/// Hashes the id of a line. Two 32-bit hashes are enough to tell the lines of one machine apart.
pub(crate) fn origin(id: &str) -> u64 {
    u64::from(xxh32(id.as_bytes(), 0)) << 32 | u64::from(xxh32(id.as_bytes(), 1))
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
