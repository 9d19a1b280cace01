//! Branches: a new session with the log of another.

use super::{error::StoreError, handle::Store, writer};
use openagents_core::agent::{EarlierKind, EarlierSession};
use rusqlite::{OptionalExtension as _, params, params_from_iter};

/// The kinds of an agent's earlier session: [`EarlierKind`].
const OWN: i64 = 0;
const BRANCHED: i64 = 1;

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

    /// Stores an agent's own id for a session. Blocks.
    pub fn remember_agent_session(
        &self,
        session_id: &str,
        agent_id: &str,
        agent_session_id: &str,
    ) -> Result<(), StoreError> {
        let row = [session_id, agent_id, agent_session_id].map(str::to_owned);
        self.write(move |transaction, _| {
            let sql = "INSERT OR REPLACE INTO agent_sessions VALUES (?1, ?2, ?3, 0)";
            transaction.execute(sql, params_from_iter(&row)).map(drop)
        })
    }

    /// Marks the branches of an agent's session, which is about to go on, as passed. Blocks.
    pub(crate) fn pass_branches(&self, agent_id: &str, agent_session_id: &str) -> Result<(), StoreError> {
        let row = [agent_id, agent_session_id].map(str::to_owned);
        self.write(move |transaction, _| {
            let sql = "UPDATE agent_sessions SET kind = 2 WHERE kind = 1 AND agent_id = ?1 AND agent_session_id = ?2";
            transaction.prepare_cached(sql)?.execute(params_from_iter(&row)).map(drop)
        })
    }

    /// Returns the agent's session that belongs to a session, or to the one that it branched from. Blocks.
    pub fn agent_session(
        &self,
        session_id: &str,
        agent_id: &str,
    ) -> Result<Option<EarlierSession>, StoreError> {
        self.query(|connection| {
            connection
                .prepare_cached(
                    "SELECT agent_session_id, kind FROM agent_sessions
                     WHERE session_id = ?1 AND agent_id = ?2",
                )?
                .query_row([session_id, agent_id], |row| {
                    let kind = match row.get(1)? {
                        OWN => EarlierKind::Own,
                        BRANCHED => EarlierKind::Branched,
                        _ => EarlierKind::Passed,
                    };
                    Ok(EarlierSession { id: row.get(0)?, kind })
                })
                .optional()
        })
    }
}
