//! A session that is about to be deleted, or was.

use super::session::{Session, wake_all};

impl Session {
    /// Takes no more turns; `false` when one is at work or waits.
    pub(crate) async fn retire(&self) -> bool {
        let _order = self.asking.lock().await;
        let mut state = self.lock();
        let rests = !state.queue.is_running();
        state.retired |= rests;
        rests
    }

    pub(crate) fn come_back(&self) {
        self.lock().retired = false;
    }

    /// Tells its readers that there is nothing more to read.
    pub(crate) fn end(&self) {
        let mut state = self.lock();
        state.deleted = true;
        wake_all(&mut state);
    }

    /// Returns whether it is gone from the store.
    pub fn is_deleted(&self) -> bool {
        self.lock().deleted
    }
}
