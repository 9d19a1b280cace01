//! Deleting a session: its log, what was asked in it, and the sessions of its delegates.

use super::{hub::Hub, session::Session};
use crate::error::SessionError;
use std::sync::Arc;

impl Hub {
    /// Deletes a session and those of its delegates, unless one of them is at work.
    pub async fn delete(&self, session: &Arc<Session>) -> Result<(), SessionError> {
        let id = session.id().clone();
        let mut family = self.read(move |store| store.family(&id)).await?;
        family.sort();
        // Nobody finds one of them in the store meanwhile.
        let mut loading = Vec::new();
        for id in &family {
            loading.push(self.loading().begin(id).await);
        }
        let live: Vec<_> = family.iter().filter_map(|id| self.live(id)).collect();
        let mut retired: Vec<Arc<Session>> = Vec::new();
        for session in &live {
            if !session.retire().await {
                retired.iter().for_each(|session| session.come_back());
                return Err(SessionError::busy(
                    "A turn runs in this session; stop it, then delete the session.",
                ));
            }
            retired.push(session.clone());
        }
        let ids = family.clone();
        if let Err(fault) = self.read(move |store| store.delete_sessions(ids)).await {
            retired.iter().for_each(|session| session.come_back());
            return Err(fault);
        }
        self.forget(&family);
        for session in retired {
            self.close(&session);
            session.end();
        }
        self.changes().remove(&family);
        Ok(())
    }
}

impl Session {
    /// Takes no more turns; `false` when one is at work or waits.
    async fn retire(&self) -> bool {
        let _order = self.asking.lock().await;
        let mut state = self.lock();
        let rests = !state.queue.is_running();
        state.retired |= rests;
        rests
    }

    fn come_back(&self) {
        self.lock().retired = false;
    }

    /// Tells its readers that there is nothing more to read.
    fn end(&self) {
        let mut state = self.lock();
        state.deleted = true;
        super::session::wake_all(&mut state);
    }

    /// Returns whether it is gone from the store.
    pub fn is_deleted(&self) -> bool {
        self.lock().deleted
    }
}
