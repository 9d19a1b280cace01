//! The user's labels for sessions and transcripts, stored outside their logs.

use super::{
    error::StoreError,
    handle::Store,
    marks::{Marks, TranscriptLabel},
};
use rusqlite::{Transaction, params};

impl Store {
    /// Stores the marks of a session in the list. Blocks.
    pub fn mark_session(&self, session_id: &str, marks: Marks) -> Result<(), StoreError> {
        let id = session_id.to_owned();
        self.write(move |transaction, _| {
            transaction
                .prepare_cached("UPDATE sessions SET pinned = ?2, archived = ?3 WHERE id = ?1")?
                .execute(params![id, marks.pinned, marks.archived])?;
            Ok(())
        })
    }

    /// Returns the labels for other agents' transcripts, by agent and id. Blocks.
    pub fn transcript_labels(&self) -> Result<Vec<(String, String, TranscriptLabel)>, StoreError> {
        self.read(|connection| {
            let mut statement = connection
                .prepare_cached("SELECT provider, id, title, pinned, archived FROM transcript_labels")?;
            let rows = statement.query_map([], |row| {
                let marks = Marks { pinned: row.get(3)?, archived: row.get(4)? };
                Ok((row.get(0)?, row.get(1)?, TranscriptLabel { title: row.get(2)?, marks }))
            })?;
            rows.collect()
        })
    }

    /// Replaces all labels for other agents' transcripts, by agent and id. The previous labels can no longer be read
    /// from the files. Blocks.
    pub(crate) fn rewrite_transcript_labels(
        &self,
        labels: Vec<(&'static str, String, TranscriptLabel)>,
    ) -> Result<(), StoreError> {
        self.write_durably(move |transaction, _| {
            // A DELETE without a condition overwrites the pages themselves: see `secure_delete` in `open.rs`.
            transaction.execute("DELETE FROM transcript_labels", [])?;
            labels.iter().try_for_each(|(provider, id, label)| insert(transaction, provider, id, label))
        })?;
        self.checkpoint()
    }

    /// Stores the label for another agent's transcript; deletes an empty one. Blocks.
    pub fn label_transcript(
        &self,
        provider: &str,
        id: &str,
        label: &TranscriptLabel,
    ) -> Result<(), StoreError> {
        let (provider, id, label) = (provider.to_owned(), id.to_owned(), label.clone());
        self.write(move |transaction, _| {
            if label == TranscriptLabel::default() {
                transaction
                    .prepare_cached("DELETE FROM transcript_labels WHERE provider = ?1 AND id = ?2")?
                    .execute(params![provider, id])?;
                return Ok(());
            }
            insert(transaction, &provider, &id, &label)
        })
    }
}

fn insert(
    transaction: &Transaction<'_>,
    provider: &str,
    id: &str,
    TranscriptLabel { title, marks }: &TranscriptLabel,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "INSERT OR REPLACE INTO transcript_labels (provider, id, title, pinned, archived)
             VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![provider, id, title, marks.pinned, marks.archived])
        .map(drop)
}
