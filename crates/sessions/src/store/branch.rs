//! Branches: a new session with the log of another.

use super::{error::StoreError, handle::Store, writer};
use rusqlite::params;

/// What a branch has of the session that it comes from. Approvals stay with that one: they are its rules and questions.
const COPIED: [&str; 5] = [
    "INSERT INTO events (session_id, seq, ts, update_json)
     SELECT ?2, seq, ts, update_json FROM events WHERE session_id = ?1",
    "INSERT INTO images (session_id, hash, mime_type, bytes)
     SELECT ?2, hash, mime_type, bytes FROM images WHERE session_id = ?1",
    "INSERT INTO session_choices (session_id, agent_id, choices_json)
     SELECT ?2, agent_id, choices_json FROM session_choices WHERE session_id = ?1",
    "INSERT INTO agent_sessions (session_id, agent_id, agent_session_id, kind)
     SELECT ?2, agent_id, agent_session_id, 1 FROM agent_sessions WHERE session_id = ?1",
    "UPDATE sessions SET (title, last_seq, policy_json, limits_json) =
     (SELECT title, last_seq, policy_json, limits_json FROM sessions WHERE id = ?1) WHERE id = ?2",
];

impl Store {
    /// Creates a session with everything that `from` has in its log. Blocks.
    pub(crate) fn create_branch(&self, session: writer::NewSession, from: &str) -> Result<(), StoreError> {
        let from = from.to_owned();
        self.write(move |transaction, now| {
            writer::create(transaction, &session, now)?;
            for sql in COPIED {
                transaction.execute(sql, params![from, session.id])?;
            }
            Ok(())
        })
    }
}
