//! The explorer, models and agents that turns run with.

use openagents_core::{
    CancellationToken,
    agent::Agents,
    model::{LanguageModel, LocalModels},
    update::SessionUpdate,
};
use openagents_orchestration::explore::{ExploreOutcome, ExploreRequest, Explorer};
use openagents_transcripts::history::History;
use std::sync::Arc;

/// Runs explorations. Implemented by [`Explorer`], and replaced in tests.
pub trait Explore: Send + Sync + std::fmt::Debug {
    /// See [`Explorer::explore`].
    fn explore(
        &self,
        request: &ExploreRequest,
        cancel: &CancellationToken,
        emit: &(dyn Fn(SessionUpdate) + Sync),
    ) -> ExploreOutcome;
}

impl Explore for Explorer {
    fn explore(
        &self,
        request: &ExploreRequest,
        cancel: &CancellationToken,
        emit: &(dyn Fn(SessionUpdate) + Sync),
    ) -> ExploreOutcome {
        Explorer::explore(self, request, cancel, emit)
    }
}

/// The providers of turns.
#[derive(Debug, Clone)]
pub struct Providers {
    /// Runs explorations.
    pub explorer: Arc<dyn Explore>,
    /// The local models; they add the mode `gptoss_20b`.
    pub models: Option<Arc<dyn LocalModels>>,
    /// The agents on this machine; they add their modes, and routing.
    pub agents: Option<Arc<dyn Agents>>,
    /// A fast model that also routes unclear prompts: Foundation Models, if available.
    pub foundation: Option<Arc<dyn LanguageModel>>,
}

impl Providers {
    /// Creates providers for rule-based exploration without models.
    pub fn rules(history: Arc<History>) -> Self {
        Self {
            explorer: Arc::new(Explorer::heuristic(history)),
            models: None,
            agents: None,
            foundation: None,
        }
    }

    /// Creates providers with local models that answer, and that plan explorations on request: the fast model before
    /// the one that has to be loaded.
    pub fn local(
        history: Arc<History>,
        models: Option<Arc<dyn LocalModels>>,
        foundation: Option<Arc<dyn LanguageModel>>,
    ) -> Self {
        let planners = foundation.iter().cloned().chain(models.iter().map(|models| models.model())).collect();
        let explorer = Explorer { models: planners, ..Explorer::heuristic(history) };
        Self { explorer: Arc::new(explorer), models, agents: None, foundation }
    }
}
