//! Per-session locks for loading and deleting.

use parking_lot::Mutex;
use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};
use tokio::sync::OwnedMutexGuard;

type Lock = tokio::sync::Mutex<()>;

/// The sessions that are being loaded or deleted.
#[derive(Debug, Default)]
pub(crate) struct Loading(Mutex<HashMap<Arc<str>, Weak<Lock>>>);

impl Loading {
    /// Locks a session for loading or deleting. Lock several sessions in the order of their ids.
    pub(crate) async fn begin(&self, id: &str) -> OwnedMutexGuard<()> {
        self.lock_of(id).lock_owned().await
    }

    fn lock_of(&self, id: &str) -> Arc<Lock> {
        let mut locks = self.0.lock();
        if let Some(known) = locks.get(id).and_then(Weak::upgrade) {
            return known;
        }
        locks.retain(|_, lock| lock.strong_count() > 0);
        let lock = Arc::<Lock>::default();
        locks.insert(id.into(), Arc::downgrade(&lock));
        lock
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::poll;
    use std::pin::pin;

    #[tokio::test]
    async fn a_slow_load_blocks_no_other_session() {
        let loading = Loading::default();
        let slow = loading.begin("slow").await;
        drop(loading.begin("other").await);
        let mut again = pin!(loading.begin("slow"));
        assert!(poll!(&mut again).is_pending());
        drop(slow);
        drop(again.await);
        drop(loading.begin("third").await);
        assert_eq!(loading.0.lock().len(), 1);
    }
}
