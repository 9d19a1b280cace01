//! The user's label for a session: title, pinned, archived.

use super::session::Session;
use crate::{
    blocking::run_blocking,
    error::SessionError,
    store::{Marks, StoreError},
};
use openagents_core::update::{SessionUpdate, Title};
use std::sync::{Arc, mpsc::sync_channel};

impl Session {
    /// Sets the title. It is logged like an agent's title update, and no later prompt replaces it.
    pub async fn rename(self: &Arc<Self>, title: &str) -> Result<(), SessionError> {
        let (session, title) = (self.clone(), title.to_owned());
        let rename = move || {
            session.lock().titled = true;
            let (done, stored) = sync_channel(1);
            // Cannot fail: the channel has room for the only answer.
            session.append_then(vec![SessionUpdate::Title(Title { title })], move |result| {
                drop(done.try_send(result));
            });
            stored.recv().unwrap_or(Err(StoreError::Closed))
        };
        Ok(run_blocking(rename).await.unwrap_or(Err(StoreError::Closed))?)
    }

    /// Changes the marks of the session in the list.
    pub async fn mark(
        self: &Arc<Self>,
        change: impl FnOnce(&mut Marks) + Send + 'static,
    ) -> Result<(), SessionError> {
        let session = self.clone();
        let mark = move || {
            let mut state = session.lock();
            let mut marks = state.marks;
            change(&mut marks);
            session.store.mark_session(session.id(), marks)?;
            state.marks = marks;
            drop(state);
            session.update_list();
            Ok(())
        };
        Ok(run_blocking(mark).await.unwrap_or(Err(StoreError::Closed))?)
    }
}
