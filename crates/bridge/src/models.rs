//! The local models as connections see them: a snapshot whenever it changed, at a pace that a socket can take.

use crate::{
    error::Fault,
    rpc,
    sessions::{Wake, beside},
};
use openagents_core::model::{LocalModels, ModelCommand};
use serde_json::Value;
use std::{
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{sync::Notify, time::Instant};

/// A connection is sent at most one snapshot in this time.
const EVERY: Duration = Duration::from_millis(250);

/// The models, and those who watch them.
#[derive(Debug)]
pub(crate) struct ModelsFeed {
    models: Arc<dyn LocalModels>,
    /// Grows with every change.
    changes: AtomicU64,
    watchers: Mutex<Vec<Weak<Notify>>>,
}

impl ModelsFeed {
    pub(crate) fn new(models: Arc<dyn LocalModels>) -> Arc<Self> {
        let feed = Arc::new(Self { models, changes: AtomicU64::new(1), watchers: Mutex::default() });
        let weak = Arc::downgrade(&feed);
        feed.models.watch(Arc::new(move || {
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

    /// Returns a `ModelsSnapshot` as it goes over the wire.
    pub(crate) fn snapshot(&self) -> Value {
        serde_json::to_value(self.models.snapshot()).unwrap_or_default()
    }

    /// Looks at the files first: a person may have put one there.
    pub(crate) async fn fresh_snapshot(&self) -> Value {
        let models = self.models.clone();
        beside(move || models.refresh()).await;
        self.snapshot()
    }

    /// Does what a person asked for and returns how everything stands then.
    pub(crate) async fn command(&self, command: ModelCommand) -> Result<Value, Fault> {
        let models = self.models.clone();
        let done = beside(move || models.command(command)).await;
        done.unwrap_or_else(|| {
            Err(openagents_core::model::LocalModelsError::Refused("it was interrupted".to_owned()))
        })?;
        Ok(self.snapshot())
    }

    /// Ends downloads and the model's process. Blocks.
    pub(crate) fn shut_down(&self) {
        self.models.shut_down();
    }
}

/// What one connection has been told.
#[derive(Debug)]
pub(crate) struct ModelsWatch {
    feed: Arc<ModelsFeed>,
    seen: u64,
    told: Value,
    next: Instant,
}

impl ModelsWatch {
    /// Begins to watch for a connection that has just been told `told`.
    pub(crate) fn begin(feed: Arc<ModelsFeed>, told: Value, wake: &Wake) -> Self {
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
        let text = rpc::notification("_openagents/models", &snapshot);
        self.told = snapshot;
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use openagents_core::model::{LanguageModel, LocalModelsError, ModelsSnapshot};

    #[derive(Debug)]
    struct NoModels;

    impl LocalModels for NoModels {
        fn model(&self) -> Arc<dyn LanguageModel> {
            unreachable!("nobody asks")
        }
        fn snapshot(&self) -> ModelsSnapshot {
            ModelsSnapshot::default()
        }
        fn watch(&self, _: Arc<dyn Fn() + Send + Sync>) {}
        fn command(&self, _: ModelCommand) -> Result<(), LocalModelsError> {
            Ok(())
        }
        fn shut_down(&self) {}
    }

    #[tokio::test]
    async fn a_connection_that_watches_again_is_woken_once() {
        let feed = ModelsFeed::new(Arc::new(NoModels));
        let (wake, other) = (Wake::default(), Wake::default());
        for wake in [&wake, &other, &wake, &wake] {
            ModelsWatch::begin(feed.clone(), feed.snapshot(), wake);
        }
        assert_eq!(feed.watchers.lock().unwrap().len(), 2);
        drop(other);
        ModelsWatch::begin(feed.clone(), feed.snapshot(), &wake);
        assert_eq!(feed.watchers.lock().unwrap().len(), 1);
    }
}
