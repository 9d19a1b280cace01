//! Remembers parsed transcripts of other agents between two starts.

use super::{Store, writer::Job};
use openagents_core::history::{FileStamp, Transcript, TranscriptIndex};
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

/// A [`TranscriptIndex`] in the store.
#[derive(Debug)]
pub(super) struct StoredIndex {
    store: Store,
}

impl StoredIndex {
    pub(super) fn new(store: Store) -> Self {
        Self { store }
    }
}

impl TranscriptIndex for StoredIndex {
    fn load(&self, root: &Path) -> HashMap<PathBuf, (FileStamp, Transcript)> {
        let Some(root) = root.to_str() else { return HashMap::new() };
        let rows = self.store.readers.with(|reader| reader.transcripts(root.trim_end_matches('/')));
        let rows = rows.unwrap_or_else(|error| {
            // Listing still works, it only parses again.
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
            && let Err(error) = self.store.writer.send(Job::Remember { rows })
        {
            tracing::warn!(%error, "the index of transcripts could not be written");
        }
    }
}
