//! The parts of explorations, and the request and outcome of one run.

use crate::plan::Planner;
use openagents_core::{
    model::{Availability, LanguageModel},
    update::{RunState, Summary},
};
use openagents_tools::{builtin, tool::Toolbox};
use openagents_transcripts::history::History;
use serde::{Deserialize, Serialize};
use std::{path::PathBuf, sync::Arc};

/// Dependencies of explorations; shared by all runs of a process.
#[derive(Debug, Clone)]
pub struct Explorer {
    /// Tools and the data that they access.
    pub tools: Toolbox,
    pub planner: Arc<dyn Planner>,
    /// Models for planning and inference on request, best first.
    pub models: Vec<Arc<dyn LanguageModel>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExploreRequest {
    /// The workspace; need not exist.
    pub root: PathBuf,
    /// The user's goals; may be empty.
    pub goals: Vec<String>,
    /// UUID of the plan, chosen by the caller to be known before the run starts.
    pub plan_id: String,
    /// Note after the name in the repository line; set if a client's root had to be replaced.
    pub repository_note: Option<String>,
    pub planner: PlannerChoice,
    /// The goal was typed as a prompt, so findings are sent to every client, not only to those that explore.
    pub answers_prompt: bool,
}

/// The planner of an exploration, which also infers the intent if history has none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PlannerChoice {
    /// The model if it is in memory, otherwise the rules.
    Auto,
    /// The rules; immediate.
    #[default]
    Heuristic,
    /// The model, loaded if needed. If it cannot plan, the run fails with its reason.
    Model,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ExploreOutcome {
    /// `Complete`, `Failed` or `Cancelled`.
    pub state: RunState,
    pub summary: Summary,
    /// Number of ops that ran, including failed ones.
    pub ops: usize,
    /// The final message as emitted.
    pub message: String,
}

/// The final message of a run that the user stopped.
pub const CANCELLED: &str = "Exploration cancelled.";

impl Explorer {
    /// Returns an explorer without models.
    pub fn heuristic(history: Arc<History>) -> Self {
        Self {
            tools: builtin::toolbox(history),
            planner: Arc::new(crate::plan::HeuristicPlanner),
            models: Vec::new(),
        }
    }

    /// Returns the model for a request, if it uses one.
    pub(super) fn model_for(&self, choice: PlannerChoice) -> Option<&Arc<dyn LanguageModel>> {
        let ready = |model: &&Arc<dyn LanguageModel>| model.availability() == Availability::Ready;
        match choice {
            PlannerChoice::Auto => {
                self.models.iter().find(|model| model.capabilities().loaded && ready(model))
            }
            PlannerChoice::Heuristic => None,
            // If no model is ready, the last one gives the reason.
            PlannerChoice::Model => self.models.iter().find(ready).or(self.models.last()),
        }
    }
}
