//! Snapshots that are sent to watching connections when they change, at a bounded rate.

use crate::rpc;
use openagents_sessions::{Wake, Watchers};
use openagents_wire::{Event, Scope};
use parking_lot::Mutex;
use serde_json::Value;
use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::time::Instant;

/// Shortest time between two snapshots for one connection.
const EVERY: Duration = Duration::from_millis(250);

type Snapshot = Box<dyn Fn(Scope) -> Value + Send + Sync>;

pub struct Feed {
    method: &'static str,
    /// The scope needed to watch; checked before every notification.
    needed: Scope,
    snapshot: Snapshot,
    changes: AtomicU64,
    watchers: Mutex<Watchers>,
}

impl fmt::Debug for Feed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Feed").field("method", &self.method).finish_non_exhaustive()
    }
}

impl Feed {
    pub fn new<E: Event>(
        needed: Scope,
        snapshot: impl Fn() -> E::Params + Send + Sync + 'static,
    ) -> Arc<Self> {
        Self::by_scope::<E>(needed, move |_| snapshot())
    }

    /// Creates a feed whose snapshot depends on the client's scope.
    pub fn by_scope<E: Event>(
        needed: Scope,
        snapshot: impl Fn(Scope) -> E::Params + Send + Sync + 'static,
    ) -> Arc<Self> {
        let snapshot = Box::new(move |scope| rpc::value(&snapshot(scope)));
        let (changes, watchers) = (AtomicU64::new(1), Mutex::default());
        Arc::new(Self { method: E::NAME, needed, snapshot, changes, watchers })
    }

    pub fn changed(&self) {
        self.changes.fetch_add(1, Ordering::Relaxed);
        self.watchers.lock().wake();
    }

    /// Returns a callback for [`Self::changed`] that does not keep the feed alive.
    pub fn notifier(self: &Arc<Self>) -> Arc<dyn Fn() + Send + Sync> {
        let feed = Arc::downgrade(self);
        Arc::new(move || {
            if let Some(feed) = feed.upgrade() {
                feed.changed();
            }
        })
    }

    /// Returns the current snapshot, as sent to admins.
    pub fn snapshot(&self) -> Value {
        self.snapshot_for(Scope::Admin)
    }

    pub fn snapshot_for(&self, scope: Scope) -> Value {
        (self.snapshot)(scope)
    }
}

#[derive(Debug)]
pub(crate) struct Watch {
    feed: Arc<Feed>,
    seen: u64,
    scope: Option<Scope>,
    sent: Value,
    next: Instant,
}

impl Watch {
    /// Starts watching for a connection that was just sent `sent`.
    pub(crate) fn begin(feed: Arc<Feed>, sent: Value, wake: &Wake) -> Self {
        feed.watchers.lock().add(wake);
        // `seen: 0` makes the first check pick up changes made since `sent`.
        Self { feed, seen: 0, scope: None, sent, next: Instant::now() + EVERY }
    }

    pub(crate) fn needed(&self) -> Scope {
        self.feed.needed
    }

    pub(crate) fn is_of(&self, feed: &Arc<Feed>) -> bool {
        Arc::ptr_eq(&self.feed, feed)
    }

    /// Returns when the next notification may be due; `None` if nothing changed.
    pub(crate) fn due(&self) -> Option<Instant> {
        (self.feed.changes.load(Ordering::Relaxed) != self.seen).then_some(self.next)
    }

    /// Returns the notification for a client that now has `scope`, if one is due and the snapshot changed.
    pub(crate) fn news(&mut self, scope: Scope) -> Option<String> {
        if self.scope.replace(scope) != Some(scope) {
            self.seen = 0;
        }
        self.due().filter(|due| *due <= Instant::now())?;
        self.seen = self.feed.changes.load(Ordering::Relaxed);
        self.next = Instant::now() + EVERY;
        let snapshot = self.feed.snapshot_for(scope);
        if snapshot == self.sent {
            return None;
        }
        let text = rpc::notification(self.feed.method, &snapshot);
        self.sent = snapshot;
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use openagents_wire::methods;

    #[tokio::test]
    async fn repeated_watch_registers_once() {
        let feed = Feed::new::<methods::ModelsChanged>(Scope::View, Default::default);
        let (wake, other) = (Wake::default(), Wake::default());
        for wake in [&wake, &other, &wake, &wake] {
            Watch::begin(feed.clone(), feed.snapshot(), wake);
        }
        assert_eq!(feed.watchers.lock().count(), 2);
        drop(other);
        Watch::begin(feed.clone(), feed.snapshot(), &wake);
        assert_eq!(feed.watchers.lock().count(), 1);
    }
}
