//! Watching the list of sessions.

use super::SessionRegistry;
use crate::{
    changes::{Changes, EVERY, ListWatch, Listed, Wanted},
    store::now_ms,
};
use std::{
    sync::{Arc, Weak},
    time::Duration,
};
use tokio::time::{sleep, timeout};

/// Polling interval for changes by other processes.
const ELSEWHERE: Duration = Duration::from_secs(1);
/// Overlap between two polls, in milliseconds, because the clock may be set back.
const BACK_MS: i64 = 5_000;

impl SessionRegistry {
    /// Watches the list for changes from now on.
    pub fn watch_list(self: &Arc<Self>, wanted: Wanted) -> ListWatch {
        let changes = self.changes();
        let (watch, is_first) = ListWatch::new(changes, wanted);
        if is_first {
            tokio::spawn(poll_changes(Arc::downgrade(self), changes.clone()));
        }
        watch
    }

    /// Returns the rows of changed sessions that have updates.
    async fn rows(&self, touched: Vec<Arc<str>>, since: i64) -> Vec<Listed> {
        let rows = self.read(move |store| {
            let mut rows = store.changed_since(since)?;
            for id in touched {
                rows.extend(store.session(&id)?.filter(|row| row.last_seq > 0));
            }
            Ok(rows)
        });
        let rows = rows.await.unwrap_or_else(|fault| {
            tracing::warn!(%fault, "the list of sessions cannot be read");
            Vec::new()
        });
        rows.into_iter().map(|row| self.listed(row)).collect()
    }
}

/// Reads changed rows until nothing watches the list.
async fn poll_changes(sessions: Weak<SessionRegistry>, changes: Arc<Changes>) {
    let mut looked = now_ms();
    loop {
        // Changes made between two waits are not lost: the sessions stay marked as changed.
        let _ = timeout(ELSEWHERE, changes.nudged()).await;
        let Some(sessions) = sessions.upgrade() else { return };
        let Some((touched, read)) = changes.to_look_at(sessions.stopping().is_cancelled()) else { return };
        let now = now_ms();
        let since = looked.min(now).saturating_sub(BACK_MS);
        looked = now;
        let rows = sessions.rows(touched, since).await;
        drop(sessions);
        changes.take(rows, read);
        sleep(EVERY).await;
    }
}
