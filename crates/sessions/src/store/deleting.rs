//! Deleting sessions and their data.

use rusqlite::Transaction;

pub(super) fn delete(transaction: &Transaction<'_>, ids: &[String]) -> rusqlite::Result<()> {
    for id in ids {
        // Decisions have no foreign key to the session.
        transaction.prepare_cached("DELETE FROM decisions WHERE session_id = ?1")?.execute([id])?;
        transaction.prepare_cached("DELETE FROM sessions WHERE id = ?1")?.execute([id])?;
    }
    Ok(())
}
