//! The file of the index: opening it, its state, and forgetting everything.

use crate::{cache_file::CacheFile, history::READER_VERSION};
use openagents_core::folders::create_folder;
use parking_lot::Mutex;
use rusqlite::{Connection, ErrorCode};
use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
};

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

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IndexStatus {
    pub sessions: u64,
    /// Sessions of which only the first 256 KiB of text are indexed.
    pub cut: u64,
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

pub(super) const INDEX: CacheFile = CacheFile {
    what: "the index of other agents' sessions",
    // Combines the version of the tables with that of the readers.
    version: READER_VERSION * 100 + 8,
    tables: TABLES,
};

/// A passage has no row: its number in `words` identifies it (see `place.rs`). Its words are folded, and all characters
/// except spaces belong to them. `states` has what a search reads of every session, without the long `row_json`.
/// `terms` has the words that prefixes expand to, and the number of sessions that contain them: FTS5 would read all
/// passages of each. `texts` says where their texts are: `offset` is the offset of the line in a file of lines, `lines`
/// are some lines of another file.
const TABLES: &str = "
    CREATE TABLE sessions (
        key INTEGER PRIMARY KEY,
        provider TEXT NOT NULL,
        id TEXT NOT NULL,
        row_json TEXT NOT NULL,
        title TEXT,
        cwd TEXT,
        size INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        upto INTEGER NOT NULL,
        bytes INTEGER NOT NULL,
        cut INTEGER NOT NULL,
        UNIQUE (provider, id)
    ) STRICT;
    CREATE INDEX states ON sessions (key, updated_at, cwd, provider, id, size, cut, upto);
    CREATE TABLE terms (
        term TEXT PRIMARY KEY,
        sessions INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE texts (
        place INTEGER PRIMARY KEY,
        offset INTEGER,
        lines BLOB
    ) STRICT;
    CREATE VIRTUAL TABLE words USING fts5(
        text, content = '', contentless_delete = 1, detail = none,
        tokenize = \"unicode61 remove_diacritics 0 categories 'L* M* N* P* S* C*'\"
    );";
