//! Deleting a session with its delegates.

use super::executor::TurnExecutor;
use crate::{
    error::SessionError,
    live::Session,
    store::{Store, StoreError},
};
use openagents_core::update::SessionUpdate;
use std::sync::Arc;

/// Maximum number of mode changes in a session that counts as unprompted, so that one page of its log is enough to
/// decide.
const CHANGES: usize = 64;

impl TurnExecutor {
    /// Deletes a session and those of its delegates. Fails if one of them has a running turn.
    pub async fn delete(&self, session: &Arc<Session>) -> Result<(), SessionError> {
        self.delete_if(session, |_| Ok(true)).await.map(drop)
    }

    /// Deletes a session without prompts and turns: its log has mode changes at most, and no agent delegated to it.
    /// Returns whether it was deleted.
    pub async fn delete_unprompted(&self, session: &Arc<Session>) -> Result<bool, SessionError> {
        if session.parent().is_some() {
            return Ok(false);
        }
        let (id, again) = (session.id().clone(), session.id().clone());
        // Checked before retiring the session: a retired session refuses prompts, even if only for a moment.
        if !self.sessions().read(move |store| is_unprompted(store, &id)).await? {
            return Ok(false);
        }
        self.delete_if(session, move |store| is_unprompted(store, &again)).await
    }

    /// Deletes a session if `may` allows it. `may` is called once no more turns can begin. Returns whether the session
    /// was deleted.
    async fn delete_if(
        &self,
        session: &Arc<Session>,
        may: impl FnOnce(&Store) -> Result<bool, StoreError> + Send + 'static,
    ) -> Result<bool, SessionError> {
        let id = session.id().clone();
        let mut family = self.sessions().read(move |store| store.family(&id)).await?;
        family.sort();
        // Keep them from being loaded meanwhile.
        let mut loading = Vec::new();
        for id in &family {
            loading.push(self.sessions().loading().begin(id).await);
        }
        let live: Vec<_> = family.iter().filter_map(|id| self.sessions().live(id)).collect();
        let mut retired: Vec<Arc<Session>> = Vec::new();
        for session in &live {
            if !session.retire().await {
                retired.iter().for_each(|session| session.unretire());
                return Err(SessionError::busy(
                    "A turn runs in this session; stop it, then delete the session.",
                ));
            }
            retired.push(session.clone());
        }
        let ids = family.clone();
        let delete = move |store: &Store| Ok(may(store)? && store.delete_sessions(ids).map(|()| true)?);
        match self.sessions().read(delete).await {
            Ok(true) => {}
            kept => {
                retired.iter().for_each(|session| session.unretire());
                return kept;
            }
        }
        self.sessions().forget(&family);
        for session in retired {
            self.close(&session);
            session.end();
        }
        self.sessions().changes().remove(&family);
        Ok(true)
    }
}

fn is_unprompted(store: &Store, id: &str) -> Result<bool, StoreError> {
    let log = store.updates_after(id, 0, CHANGES + 1)?;
    Ok(log.len() <= CHANGES && log.iter().all(|row| matches!(row.update, SessionUpdate::Mode(_))))
}
