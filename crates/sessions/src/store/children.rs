//! Sessions of delegates, and the agents' own session ids.

use super::{
    error::StoreError,
    handle::Store,
    reader::Parent,
    writer::{self, NewSession},
};
use crate::policy::Policy;
use openagents_core::agent::AccessLimits;
use rusqlite::{OptionalExtension, Transaction, params, params_from_iter};
use serde::Serialize;

impl Store {
    /// Creates the session of a delegate. Blocks.
    pub fn create_child(
        &self,
        session: NewSession,
        parent: Parent,
        policy: Policy,
        limits: &AccessLimits,
    ) -> Result<(), StoreError> {
        let (policy, limits) = (json(&policy)?, json(limits)?);
        // In one transaction: otherwise a crash could leave a session without limits.
        self.write(move |transaction, now| {
            writer::create(transaction, &session, now)?;
            transaction.execute(
                "UPDATE sessions SET parent_id = ?2, parent_call_id = ?3, policy_json = ?4, limits_json = ?5
                 WHERE id = ?1",
                params![session.id, parent.session_id, parent.call_id, policy, limits],
            )?;
            Ok(())
        })
    }

    /// Sets the permissions of a session. Blocks.
    pub fn set_policy(&self, session_id: &str, policy: Policy) -> Result<(), StoreError> {
        let id = session_id.to_owned();
        let json = json(&policy)?;
        self.write_durably(move |transaction, _| {
            transaction.execute("UPDATE sessions SET policy_json = ?2 WHERE id = ?1", params![id, json])?;
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
        self.write(move |transaction: &Transaction<'_>, _| {
            transaction.execute(
                "INSERT OR REPLACE INTO agent_sessions VALUES (?1, ?2, ?3)",
                params_from_iter(&row),
            )?;
            Ok(())
        })
    }

    /// Returns an agent's own id for a session. Blocks.
    pub fn agent_session(&self, session_id: &str, agent_id: &str) -> Result<Option<String>, StoreError> {
        self.read(|connection| {
            connection
                .prepare_cached(
                    "SELECT agent_session_id FROM agent_sessions WHERE session_id = ?1 AND agent_id = ?2",
                )?
                .query_row([session_id, agent_id], |row| row.get(0))
                .optional()
        })
    }
}

fn json(value: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Sqlite(error.to_string()))
}
