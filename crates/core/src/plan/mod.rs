//! What an exploration is going to do: ops, who plans them, and how a plan is put in order.

mod heuristic;
mod json;
mod model;
mod normalise;
mod op;

pub use heuristic::HeuristicPlanner;
pub use json::{JsonPlan, parse_json_plan};
pub use model::ModelPlanner;
pub use normalise::{MAX_OPS, Plan, normalise};
pub use op::{Op, OpKind};

pub(crate) use heuristic::OPEN_ENDS;

use crate::{CancellationToken, survey::Survey, tool::Limits};

/// Makes a plan. Better planners need a model; the heuristic one needs nothing.
pub trait Planner: Send + Sync + std::fmt::Debug {
    /// Returns the steps in the order of execution; [`normalise`] puts them within bounds.
    fn plan(&self, request: &PlanRequest<'_>) -> Result<Vec<OpKind>, PlanError>;
}

/// What a planner may look at.
#[derive(Debug, Clone, Copy)]
pub struct PlanRequest<'a> {
    /// What the person wants to know.
    pub goals: &'a [String],
    /// The workspace and its history.
    pub survey: &'a Survey,
    /// The caps.
    pub limits: &'a Limits,
    /// Cancelled when nobody wants the plan any more.
    pub cancel: &'a CancellationToken,
}

/// Why there is no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// A model answered, but no line of it was a step.
    #[error("the plan has no step that can be run ({dropped} objects are not steps)")]
    Empty {
        /// Lines that were dropped.
        dropped: usize,
    },
    /// The planner itself cannot work now.
    #[error("no plan: {0}")]
    Unavailable(String),
}
