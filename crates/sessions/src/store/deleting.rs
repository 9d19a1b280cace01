//! Deleting sessions, with everything that belongs to them.

use rusqlite::Transaction;

pub(super) fn delete(transaction: &Transaction<'_>, ids: &[String]) -> rusqlite::Result<()> {
    for id in ids {
        // The prompts that were routed in it hang on no session.
        transaction.prepare_cached("DELETE FROM decisions WHERE session_id = ?1")?.execute([id])?;
        transaction.prepare_cached("DELETE FROM sessions WHERE id = ?1")?.execute([id])?;
    }
    Ok(())
}
