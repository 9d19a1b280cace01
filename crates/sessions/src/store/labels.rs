//! The user's labels for sessions and transcripts, stored outside their logs.

use super::{
    error::StoreError,
    handle::Store,
    reader::{Marks, TranscriptLabel},
};
use rusqlite::{OptionalExtension as _, Transaction, params};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Number of digests kept for each workspace: each branch that is checked out in turn needs some.
const DIGESTS_KEPT: usize = 256;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TrustedWorkspace {
    pub path: PathBuf,
    /// Name of the client on which the user last trusted it.
    pub by: String,
    /// When the user last trusted it, in milliseconds since the epoch.
    pub at: i64,
    /// Digests of the hooks, servers and agent settings that the user saw, and of their locations, oldest first.
    #[serde(skip)]
    pub accepted: Vec<String>,
}

impl Store {
    /// Stores the marks of a session in the list. Blocks.
    pub fn mark_session(&self, session_id: &str, marks: Marks) -> Result<(), StoreError> {
        let id = session_id.to_owned();
        self.write(move |transaction, _| {
            transaction
                .prepare_cached("UPDATE sessions SET pinned = ?2, archived = ?3 WHERE id = ?1")?
                .execute(params![id, marks.pinned, marks.archived])
                .map(drop)
        })
    }

    /// Returns the labels for other agents' transcripts, by agent and id. Blocks.
    pub fn transcript_labels(&self) -> Result<Vec<(String, String, TranscriptLabel)>, StoreError> {
        self.query(|connection| {
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
                return transaction
                    .prepare_cached("DELETE FROM transcript_labels WHERE provider = ?1 AND id = ?2")?
                    .execute(params![provider, id])
                    .map(drop);
            }
            insert(transaction, &provider, &id, &label)
        })
    }

    /// Returns the trusted workspaces, by path. Blocks.
    pub fn trusted_workspaces(&self) -> Result<Vec<TrustedWorkspace>, StoreError> {
        self.query(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT path, trusted_by, trusted_ts, accepted_json FROM trusted_workspaces ORDER BY path",
            )?;
            let rows = statement.query_map([], |row| {
                Ok(TrustedWorkspace {
                    path: PathBuf::from(row.get::<_, String>(0)?),
                    by: row.get(1)?,
                    at: row.get(2)?,
                    accepted: serde_json::from_str(&row.get::<_, String>(3)?).unwrap_or_default(),
                })
            })?;
            rows.collect()
        })
    }

    /// Stores that the user trusts a workspace with these digests, in addition to those accepted before. Blocks.
    pub fn trust_workspace(&self, path: &Path, by: &str, accepted: &[String]) -> Result<(), StoreError> {
        let path = path.to_str().ok_or_else(|| {
            StoreError::Sqlite(format!("{}: a path that is not UTF-8 cannot be stored", path.display()))
        })?;
        let (path, by, accepted) = (path.to_owned(), by.to_owned(), accepted.to_vec());
        self.write_durably(move |transaction, now| {
            let known: Option<String> = transaction
                .prepare_cached("SELECT accepted_json FROM trusted_workspaces WHERE path = ?1")?
                .query_row([&path], |row| row.get(0))
                .optional()?;
            let mut all: Vec<String> =
                known.and_then(|json| serde_json::from_str(&json).ok()).unwrap_or_default();
            all.retain(|digest| !accepted.contains(digest));
            all.extend(accepted.iter().cloned());
            let from = all.len().saturating_sub(DIGESTS_KEPT.max(accepted.len()));
            let json = serde_json::Value::from(all.split_off(from)).to_string();
            transaction
            .execute(
                "INSERT INTO trusted_workspaces (path, trusted_by, trusted_ts, accepted_json) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT (path) DO UPDATE SET trusted_by = ?2, trusted_ts = ?3, accepted_json = ?4",
                params![path, by, now, json],
            )
            .map(drop)
        })
    }

    /// Revokes the trust in a workspace. Blocks.
    pub fn revoke_workspace(&self, path: &Path) -> Result<(), StoreError> {
        let path = path.to_string_lossy().into_owned();
        self.write_durably(move |transaction, _| {
            transaction.execute("DELETE FROM trusted_workspaces WHERE path = ?1", [&path]).map(drop)
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
