//! A persistent index of parsed transcripts of other agents.

use super::handle::Store;
use openagents_core::history::{FileStamp, READER_VERSION, Transcript, TranscriptIndex};
use rusqlite::{Connection, params};
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::Arc,
};

/// A [`TranscriptIndex`] in the store.
#[derive(Debug)]
pub(super) struct StoredIndex {
    store: Store,
}

impl Store {
    /// Returns the index of parsed transcripts in this store.
    pub fn transcript_index(&self) -> Arc<dyn TranscriptIndex> {
        Arc::new(StoredIndex::new(self.clone()))
    }
}

impl StoredIndex {
    pub(super) fn new(store: Store) -> Self {
        Self { store }
    }
}

impl TranscriptIndex for StoredIndex {
    fn load(&self, root: &Path) -> HashMap<PathBuf, (FileStamp, Transcript)> {
        let Some(root) = root.to_str() else { return HashMap::new() };
        let rows = self.store.read(|connection| transcripts(connection, root.trim_end_matches('/')));
        let rows = rows.unwrap_or_else(|error| {
            // Listing still works; it parses the files again.
            tracing::warn!(%error, "the index of transcripts could not be read");
            Vec::new()
        });
        rows.into_iter()
            .filter_map(|(size, mtime_ns, json)| {
                let row: Transcript = serde_json::from_str(&json).ok()?;
                Some((row.file_path.clone(), (FileStamp { size, mtime_ns }, row)))
            })
            .collect()
    }

    fn save(&self, rows: Vec<(FileStamp, Transcript)>) {
        if !rows.is_empty()
            && let Err(error) = self.store.remember(rows)
        {
            tracing::warn!(%error, "the index of transcripts could not be written");
        }
    }
}

/// Returns size, modification time and row of every transcript below a folder.
fn transcripts(connection: &Connection, root: &str) -> rusqlite::Result<Vec<(u64, i64, String)>> {
    // One range of the primary key: everything that starts with `root/`.
    let (from, to) = (format!("{root}/"), format!("{root}0"));
    let mut statement = connection.prepare_cached(
        "SELECT size, mtime_ns, row_json FROM transcripts WHERE path >= ?1 AND path < ?2 AND reader = ?3",
    )?;
    statement
        .query_map(params![from, to, READER_VERSION], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect()
}
