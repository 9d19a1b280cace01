//! The parts that explore and answer, as the program that starts the sessions puts them together.

use openagents_core::{
    CancellationToken,
    agent::Agents,
    explore::{ExploreOutcome, ExploreRequest, Explorer},
    history::History,
    model::{LanguageModel, LocalModels},
    update::SessionUpdate,
};
use std::sync::Arc;

/// Runs explorations. [`Explorer`] does; tests put something slower or faster in its place.
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

/// Who explores and answers.
#[derive(Debug, Clone)]
pub struct Providers {
    /// Runs explorations.
    pub explorer: Arc<dyn Explore>,
    /// The models on this machine; with them comes the mode `gptoss_20b`.
    pub models: Option<Arc<dyn LocalModels>>,
    /// The agents of this machine; with them come their modes, and the choice between them.
    pub agents: Option<Arc<dyn Agents>>,
    /// The model that answers in a moment and decides unclear cases: Foundation Models, where there are any.
    pub foundation: Option<Arc<dyn LanguageModel>>,
}

impl Providers {
    /// Explores by rules; no model answers.
    pub fn rules(history: Arc<History>) -> Self {
        Self {
            explorer: Arc::new(Explorer::heuristic(history)),
            models: None,
            agents: None,
            foundation: None,
        }
    }

    /// The models on this machine answer, and plan explorations where that is asked for: the one that answers in a moment
    /// before the one that has to be loaded.
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
