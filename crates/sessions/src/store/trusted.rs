//! The workspaces that the user trusts.

use super::{error::StoreError, handle::Store};
use rusqlite::{OptionalExtension as _, params};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Number of digests kept for each workspace: each branch that is checked out in turn needs some.
const KEPT: usize = 256;

/// A trusted workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TrustedWorkspace {
    /// Canonical path.
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
    /// Returns the trusted workspaces, by path. Blocks.
    pub fn trusted_workspaces(&self) -> Result<Vec<TrustedWorkspace>, StoreError> {
        self.read(|connection| {
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
            let from = all.len().saturating_sub(KEPT.max(accepted.len()));
            let json = serde_json::Value::from(all.split_off(from)).to_string();
            transaction.execute(
                "INSERT INTO trusted_workspaces (path, trusted_by, trusted_ts, accepted_json) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT (path) DO UPDATE SET trusted_by = ?2, trusted_ts = ?3, accepted_json = ?4",
                params![path, by, now, json],
            )?;
            Ok(())
        })
    }

    /// Revokes the trust in a workspace. Blocks.
    pub fn revoke_workspace(&self, path: &Path) -> Result<(), StoreError> {
        let path = path.to_string_lossy().into_owned();
        self.write_durably(move |transaction, _| {
            transaction.execute("DELETE FROM trusted_workspaces WHERE path = ?1", [&path])?;
            Ok(())
        })
    }
}
