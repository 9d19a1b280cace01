//! The files of a database at one point in time.

use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    time::SystemTime,
};

/// Suffixes of the files with changes that are not in the database itself: the write-ahead log, and the journal of an
/// unfinished change.
pub(super) const CHANGES: [&str; 2] = ["-wal", "-journal"];

/// Sizes and times of a database and of its files with changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Files {
    database: (u64, SystemTime),
    /// Absent if the file is missing or empty.
    changes: [Option<(u64, SystemTime)>; 2],
}

impl Files {
    /// Fails for an empty database: SQLite would delete its log.
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        let Some(database) = stamp(path)? else {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the database is empty"));
        };
        let mut changes = [None; 2];
        for (change, suffix) in changes.iter_mut().zip(CHANGES) {
            *change = match stamp(&beside(path, suffix)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                stamp => stamp?,
            };
        }
        Ok(Self { database, changes })
    }

    /// Returns whether the database file is complete and can be read alone.
    pub(super) fn are_settled(&self) -> bool {
        self.changes == [None; 2]
    }

    /// Returns the total bytes of all files.
    pub(super) fn size(&self) -> u64 {
        let changes: u64 = self.changes.iter().flatten().map(|(size, _)| size).sum();
        self.database.0.saturating_add(changes)
    }
}

/// Returns the path of a file next to a database.
pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

/// Returns size and time of a file, if it is not empty. Fails if it is not a regular file, which could block.
fn stamp(path: &Path) -> io::Result<Option<(u64, SystemTime)>> {
    let metadata = fs::metadata(path)?;
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    Ok((metadata.len() > 0).then_some((metadata.len(), metadata.modified()?)))
}
