//! The exploration pipeline: goals and a workspace become a plan, results, an intent and a summary.
//!
//! The order of the updates is part of the product: the plan with all entries pending; for each op the plan with
//! that entry in progress, the call, its progress, its end; the plan as it stands at the end; `fm.analysis`; and
//! exactly one final message. The end of one entry and the start of the next share one plan update.

mod inference;
mod intent;
mod planning;
mod run;
mod summary;

use crate::{
    CancellationToken, builtin,
    history::History,
    model::{Availability, LanguageModel},
    plan::{OpKind, Planner},
    tool::{ToolError, ToolOutput, Toolbox},
    update::{RunState, SessionUpdate, Summary},
};
use serde::{Deserialize, Serialize};
use std::{path::PathBuf, sync::Arc};

/// What an exploration needs from its surroundings; shared by all runs of a process.
#[derive(Debug, Clone)]
pub struct Explorer {
    /// The tools that ops run, and what they look at.
    pub tools: Toolbox,
    /// Makes the plans.
    pub planner: Arc<dyn Planner>,
    /// Plan and infer instead, where a request asks for it: the best first.
    pub models: Vec<Arc<dyn LanguageModel>>,
}

/// One run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExploreRequest {
    /// The workspace; need not exist.
    pub root: PathBuf,
    /// What the person wants to know; may be empty.
    pub goals: Vec<String>,
    /// UUID of the plan, chosen by the caller so that it can be told before the run begins.
    pub plan_id: String,
    /// Said in the repository line beside the name; set when a door had to choose another root than was asked for.
    pub repository_note: Option<String>,
    /// Who plans.
    pub planner: PlannerChoice,
    /// A person typed the goal as a prompt: every client is told what was found, not only those that explore.
    pub answers_prompt: bool,
}

/// Who plans an exploration, and infers the intent where history has none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PlannerChoice {
    /// The model where it is in memory already, else the rules.
    Auto,
    /// The rules, in no time.
    #[default]
    Heuristic,
    /// The model; it is loaded if need be. Where it cannot plan, the run fails and says why.
    Model,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub struct ExploreOutcome {
    /// `Complete`, `Failed` or `Cancelled`.
    pub state: RunState,
    /// What was found out.
    pub summary: Summary,
    /// How many ops ran, well or badly.
    pub ops: usize,
    /// The final message as it was emitted.
    pub message: String,
}

/// A step that ran.
#[derive(Debug, Clone)]
struct Done {
    kind: OpKind,
    result: Result<ToolOutput, ToolError>,
}

/// The final message of a run that a person stopped.
pub const CANCELLED: &str = "Exploration cancelled.";

impl Explorer {
    /// Returns an explorer that needs no model.
    pub fn heuristic(history: Arc<History>) -> Self {
        Self {
            tools: builtin::toolbox(history),
            planner: Arc::new(crate::plan::HeuristicPlanner),
            models: Vec::new(),
        }
    }

    /// Returns the model that a request wants, if one is to be asked.
    fn model_for(&self, choice: PlannerChoice) -> Option<&Arc<dyn LanguageModel>> {
        let ready = |model: &&Arc<dyn LanguageModel>| model.availability() == Availability::Ready;
        match choice {
            PlannerChoice::Auto => {
                self.models.iter().find(|model| model.capabilities().loaded && ready(model))
            }
            PlannerChoice::Heuristic => None,
            // Where none is ready, the last says why.
            PlannerChoice::Model => self.models.iter().find(ready).or(self.models.last()),
        }
    }

    /// Runs to the end on this thread and tells `emit` of every step. Always emits exactly one final message,
    /// within 100 ms of a cancel.
    pub fn explore(
        &self,
        request: &ExploreRequest,
        cancel: &CancellationToken,
        emit: &(dyn Fn(SessionUpdate) + Sync),
    ) -> ExploreOutcome {
        run::Run::new(self, request, cancel, emit).finish()
    }
}

#[cfg(test)]
#[path = "explore_tests.rs"]
mod tests;
