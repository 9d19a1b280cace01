//! Deleting a session with its delegates.

use super::executor::TurnExecutor;
use crate::{error::SessionError, live::Session};
use std::sync::Arc;

impl TurnExecutor {
    /// Deletes a session and those of its delegates. Fails if one of them has a running turn.
    pub async fn delete(&self, session: &Arc<Session>) -> Result<(), SessionError> {
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
        if let Err(fault) = self.sessions().read(move |store| store.delete_sessions(ids)).await {
            retired.iter().for_each(|session| session.unretire());
            return Err(fault);
        }
        self.sessions().forget(&family);
        for session in retired {
            self.close(&session);
            session.end();
        }
        self.sessions().changes().remove(&family);
        Ok(())
    }
}
