//! The latest routing decisions.

use super::{error::StoreError, handle::Store};
use openagents_core::update::Decision;
use rusqlite::params;
use serde::Serialize;

/// Number of decisions kept.
const KEPT: i64 = 1_000;

/// Characters kept of each prompt.
const PROMPT: usize = 200;

/// A routing decision, as sent to clients.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RoutedPrompt {
    /// Milliseconds since the epoch.
    pub ts: i64,
    pub session_id: String,
    /// The start of the prompt.
    pub prompt: String,
    pub decision: Decision,
}

impl Store {
    /// Stores a decision. Blocks.
    pub fn record_decision(
        &self,
        session_id: &str,
        prompt: &str,
        decision: &Decision,
    ) -> Result<(), StoreError> {
        let (session, prompt) = (session_id.to_owned(), prompt.chars().take(PROMPT).collect::<String>());
        let json = serde_json::to_string(decision).map_err(|error| StoreError::Sqlite(error.to_string()))?;
        self.write(move |transaction, now| {
            transaction.execute(
                "INSERT INTO decisions (ts, session_id, prompt, decision_json) VALUES (?1, ?2, ?3, ?4)",
                params![now, session, prompt, json],
            )?;
            transaction
                .execute("DELETE FROM decisions WHERE id <= (SELECT max(id) FROM decisions) - ?1", [KEPT])?;
            Ok(())
        })
    }

    /// Returns the stored decisions, newest first. Blocks.
    pub fn decisions(&self) -> Result<Vec<RoutedPrompt>, StoreError> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT ts, session_id, prompt, decision_json FROM decisions ORDER BY id DESC",
            )?;
            let rows = statement.query_map([], |row| {
                let json: String = row.get(3)?;
                let decision = serde_json::from_str(&json).ok();
                let (ts, session_id, prompt) = (row.get(0)?, row.get(1)?, row.get(2)?);
                Ok(decision.map(|decision| RoutedPrompt { ts, session_id, prompt, decision }))
            })?;
            rows.filter_map(Result::transpose).collect()
        })
    }
}
