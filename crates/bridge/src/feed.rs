//! What connections are told of again whenever it changes: a snapshot, at a pace that a socket can take.

use crate::{access::Scope, rpc};
use openagents_sessions::Wake;
use serde_json::Value;
use std::{
    fmt,
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{sync::Notify, time::Instant};

/// A connection is sent at most one snapshot in this time.
const EVERY: Duration = Duration::from_millis(250);

type Snapshot = Box<dyn Fn() -> Value + Send + Sync>;

/// Something that changes, and those who watch it.
pub(crate) struct Feed {
    /// The notification that tells of a change.
    method: &'static str,
    /// What whoever watches has to be allowed, for as long as they watch.
    needed: Scope,
    snapshot: Snapshot,
    /// Grows with every change.
    changes: AtomicU64,
    watchers: Mutex<Vec<Weak<Notify>>>,
}

impl fmt::Debug for Feed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Feed").field("method", &self.method).finish_non_exhaustive()
    }
}

impl Feed {
    /// `watch` is given what is to be called at every change.
    pub(crate) fn new(
        method: &'static str,
        needed: Scope,
        snapshot: impl Fn() -> Value + Send + Sync + 'static,
        watch: impl FnOnce(Arc<dyn Fn() + Send + Sync>),
    ) -> Arc<Self> {
        let snapshot = Box::new(snapshot);
        let feed = Arc::new(Self {
            method,
            needed,
            snapshot,
            changes: AtomicU64::new(1),
            watchers: Mutex::default(),
        });
        let weak = Arc::downgrade(&feed);
        watch(Arc::new(move || {
            if let Some(feed) = weak.upgrade() {
                feed.changed();
            }
        }));
        feed
    }

    fn changed(&self) {
        self.changes.fetch_add(1, Ordering::Relaxed);
        let mut watchers = self.watchers.lock().unwrap_or_else(PoisonError::into_inner);
        watchers.retain(|watcher| watcher.upgrade().map(|wake| wake.notify_one()).is_some());
    }

    /// Returns how everything stands, as it goes over the wire.
    pub(crate) fn snapshot(&self) -> Value {
        (self.snapshot)()
    }
}

/// What one connection has been told.
#[derive(Debug)]
pub(crate) struct Watch {
    feed: Arc<Feed>,
    seen: u64,
    told: Value,
    next: Instant,
}

impl Watch {
    /// Begins to watch for a connection that has just been told `told`.
    pub(crate) fn begin(feed: Arc<Feed>, told: Value, wake: &Wake) -> Self {
        {
            let mut watchers = feed.watchers.lock().unwrap_or_else(PoisonError::into_inner);
            watchers.retain(|watcher| watcher.strong_count() > 0);
            // A connection may ask again and again.
            if !watchers.iter().any(|watcher| std::ptr::eq(watcher.as_ptr(), Arc::as_ptr(wake))) {
                watchers.push(Arc::downgrade(wake));
            }
        }
        // What changed since then is found at the first look.
        Self { feed, seen: 0, told, next: Instant::now() + EVERY }
    }

    /// Returns what whoever watches has to be allowed.
    pub(crate) fn needed(&self) -> Scope {
        self.feed.needed
    }

    /// Returns whether it watches this feed.
    pub(crate) fn is_of(&self, feed: &Arc<Feed>) -> bool {
        Arc::ptr_eq(&self.feed, feed)
    }

    /// Returns when there may be something to tell; `None` as long as nothing changed.
    pub(crate) fn due(&self) -> Option<Instant> {
        (self.feed.changes.load(Ordering::Relaxed) != self.seen).then_some(self.next)
    }

    /// Returns the notification if its time has come and there is news.
    pub(crate) fn news(&mut self) -> Option<String> {
        self.due().filter(|due| *due <= Instant::now())?;
        self.seen = self.feed.changes.load(Ordering::Relaxed);
        self.next = Instant::now() + EVERY;
        let snapshot = self.feed.snapshot();
        if snapshot == self.told {
            return None;
        }
        let text = rpc::notification(self.feed.method, &snapshot);
        self.told = snapshot;
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_connection_that_watches_again_is_woken_once() {
        let feed = Feed::new("_openagents/models", Scope::View, || Value::Null, drop);
        let (wake, other) = (Wake::default(), Wake::default());
        for wake in [&wake, &other, &wake, &wake] {
            Watch::begin(feed.clone(), feed.snapshot(), wake);
        }
        assert_eq!(feed.watchers.lock().unwrap().len(), 2);
        drop(other);
        Watch::begin(feed.clone(), feed.snapshot(), &wake);
        assert_eq!(feed.watchers.lock().unwrap().len(), 1);
    }
}
