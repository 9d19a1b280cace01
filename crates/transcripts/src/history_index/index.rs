//! The file of the index: opening it, its state, and forgetting everything.

use super::schema::INDEX;
use crate::cache_file::CacheFile;
use openagents_core::folders::create_folder;
use parking_lot::Mutex;
use rusqlite::{Connection, ErrorCode};
use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
};

/// Name of the file in the data folder.
pub(super) const FILE: &str = "history.db";

/// The index; see the documentation of this module.
#[derive(Debug)]
pub struct HistoryIndex {
    path: PathBuf,
    /// Separate from the reader, so that a search does not wait for the writer.
    pub(super) writer: Mutex<Connection>,
    pub(super) reader: Mutex<Connection>,
    /// Incremented when sessions are forgotten.
    pub(super) forgotten: AtomicU64,
    /// The write-ahead log could not be emptied, because a search was reading it.
    pub(super) log_is_kept: AtomicBool,
    /// The parts that are not indexed, with the version of the file in which they were counted.
    pub(super) not_indexed: Mutex<Option<(i64, NotIndexed)>>,
}

/// The size of the index.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IndexStatus {
    /// Sessions that are indexed.
    pub sessions: u64,
    /// Sessions of which only the first 256 KiB of text are indexed.
    pub cut: u64,
    /// Bytes of the file.
    pub bytes: u64,
}

/// The parts of sessions that an index does not contain and a search does not find.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NotIndexed {
    /// Sessions of which only the beginning is indexed.
    pub session_ends: u64,
    /// Passages of which only the beginning is indexed.
    pub passage_ends: u64,
}

impl HistoryIndex {
    /// Opens or creates the index in the data folder `home`. Blocks.
    pub fn open(home: &Path) -> rusqlite::Result<Self> {
        let path = home.join(FILE);
        // If this fails, opening the file fails too and reports it.
        let _ = create_folder(home);
        let (writer, reader) = (INDEX.open(&path)?, INDEX.open(&path)?);
        let (forgotten, log_is_kept) = (AtomicU64::new(0), AtomicBool::new(false));
        let (writer, reader) = (Mutex::new(writer), Mutex::new(reader));
        Ok(Self { path, writer, reader, forgotten, log_is_kept, not_indexed: Mutex::default() })
    }

    /// Opens the index if there is one. Blocks.
    pub fn open_existing(home: &Path) -> Option<Self> {
        home.join(FILE).exists().then(|| Self::open(home).ok()).flatten()
    }

    /// Returns the size of the index. Blocks.
    pub fn status(&self) -> rusqlite::Result<IndexStatus> {
        let (sessions, cut) = self.reader.lock().query_row(
            "SELECT count(*), coalesce(sum(cut), 0) FROM sessions",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        let size = |file: std::path::PathBuf| std::fs::metadata(file).map_or(0, |file| file.len());
        // The latest writes are in the log next to the file.
        let bytes = size(self.path.clone()) + size(self.path.with_extension("db-wal"));
        Ok(IndexStatus { sessions, cut, bytes })
    }

    /// Replaces the file with an empty one if an error means that it is damaged; returns whether it does.
    pub(super) fn renew_if_damaged(&self, error: &rusqlite::Error) -> bool {
        let damaged = [ErrorCode::DatabaseCorrupt, ErrorCode::NotADatabase];
        if !error.sqlite_error_code().is_some_and(|code| damaged.contains(&code)) {
            return false;
        }
        let (mut writer, mut reader) = (self.writer.lock(), self.reader.lock());
        let renewed = INDEX.renew(&self.path, error).and_then(|new| Ok((new, INDEX.open(&self.path)?)));
        match renewed {
            Ok(new) => {
                (*writer, *reader) = new;
                *self.not_indexed.lock() = None;
            }
            Err(error) => tracing::warn!(%error, path = %self.path.display(), "the index stays damaged"),
        }
        true
    }

    /// Forgets everything. Blocks.
    pub fn clear(&self) -> rusqlite::Result<()> {
        // An empty file has nothing to forget.
        self.clear_tables().or_else(|error| if self.renew_if_damaged(&error) { Ok(()) } else { Err(error) })
    }

    fn clear_tables(&self) -> rusqlite::Result<()> {
        {
            let mut writer = self.writer.lock();
            let transaction = writer.transaction()?;
            CacheFile::deletes(&transaction)?;
            transaction.execute_batch(
                "DELETE FROM sessions; DELETE FROM terms; DELETE FROM texts; INSERT INTO words(words) VALUES ('delete-all');",
            )?;
            transaction.commit()?;
        }
        self.forgotten.fetch_add(1, Ordering::Relaxed);
        self.compact();
        Ok(())
    }
}
