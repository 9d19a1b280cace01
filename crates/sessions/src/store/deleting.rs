//! Deleting sessions, with everything that belongs to them.

use super::{Store, StoreError};
use rusqlite::Transaction;

impl Store {
    /// Returns a session and those of its delegates, theirs included. Blocks.
    pub fn family(&self, id: &str) -> Result<Vec<String>, StoreError> {
        self.readers.with(|reader| {
            let mut statement = reader.0.prepare_cached(
                "WITH RECURSIVE family (id) AS (
                     SELECT id FROM sessions WHERE id = ?1
                     UNION SELECT sessions.id FROM sessions JOIN family ON sessions.parent_id = family.id
                 ) SELECT id FROM family",
            )?;
            statement.query_map([id], |row| row.get(0))?.collect()
        })
    }
}

pub(super) fn delete(transaction: &Transaction<'_>, ids: &[String]) -> rusqlite::Result<()> {
    for id in ids {
        // The prompts that were routed in it hang on no session.
        transaction.prepare_cached("DELETE FROM decisions WHERE session_id = ?1")?.execute([id])?;
        transaction.prepare_cached("DELETE FROM sessions WHERE id = ?1")?.execute([id])?;
    }
    Ok(())
}
