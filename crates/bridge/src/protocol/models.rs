//! The local models, services by connections.

use crate::{base::error::Fault, base::feed::Feed, base::scope::Scope};
use openagents_core::model::{LocalModels, LocalModelsError, ModelCommand};
use openagents_sessions::run_blocking;
use serde_json::Value;
use std::sync::Arc;

/// The models and their feed.
#[derive(Debug)]
pub(crate) struct SharedModels {
    models: Arc<dyn LocalModels>,
    feed: Arc<Feed>,
}

impl SharedModels {
    pub(crate) fn new(models: Arc<dyn LocalModels>) -> Arc<Self> {
        let source = models.clone();
        let snapshot = move || serde_json::to_value(source.snapshot()).unwrap_or_default();
        let feed =
            Feed::new("_openagents/models", Scope::View, snapshot, |on_change| models.watch(on_change));
        Arc::new(Self { models, feed })
    }

    pub(crate) fn feed(&self) -> &Arc<Feed> {
        &self.feed
    }

    /// Returns the snapshot after a rescan of the model folder: files may have been added by hand.
    pub(crate) async fn fresh_snapshot(&self) -> Value {
        let models = self.models.clone();
        run_blocking(move || models.refresh()).await;
        self.feed.snapshot()
    }

    /// Runs a command and returns the resulting snapshot.
    pub(crate) async fn command(&self, command: ModelCommand) -> Result<Value, Fault> {
        let models = self.models.clone();
        let done = run_blocking(move || models.command(command)).await;
        done.unwrap_or_else(|| Err(LocalModelsError::Refused("it was interrupted".to_owned())))?;
        Ok(self.feed.snapshot())
    }

    /// Stops downloads and the model process. Blocks.
    pub(crate) fn shut_down(&self) {
        self.models.shut_down();
    }
}
