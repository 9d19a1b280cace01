//! Deleting a live session.

use super::session::Session;

impl Session {
    /// Stops accepting turns. Returns false if one is running or waiting.
    pub(crate) async fn retire(&self) -> bool {
        let _order = self.submitting.lock().await;
        let mut state = self.lock();
        let is_idle = !state.queue.is_running();
        state.retired |= is_idle;
        is_idle
    }

    pub(crate) fn unretire(&self) {
        self.lock().retired = false;
    }

    /// Marks the session as deleted and wakes its readers.
    pub(crate) fn end(&self) {
        let mut state = self.lock();
        state.deleted = true;
        state.watchers.wake();
    }

    /// Returns whether the session was deleted from the store.
    pub fn is_deleted(&self) -> bool {
        self.lock().deleted
    }
}
