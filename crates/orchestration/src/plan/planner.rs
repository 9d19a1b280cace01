//! The trait of planners.

use super::op::OpKind;
use crate::survey::Survey;
use openagents_core::CancellationToken;

/// Makes a plan, with rules or a model.
pub trait Planner: Send + Sync + std::fmt::Debug {
    /// Returns the steps in the order of execution; [`normalise`](super::normalise()) puts them within bounds.
    fn plan(&self, request: &PlanRequest<'_>) -> Result<Vec<OpKind>, PlanError>;
}

/// Input of a planner.
#[derive(Debug, Clone, Copy)]
pub struct PlanRequest<'a> {
    /// The user's goals.
    pub goals: &'a [String],
    /// The workspace and its history.
    pub survey: &'a Survey,
    /// Cancelled when the plan is no longer needed.
    pub cancel: &'a CancellationToken,
}

/// The reason why there is no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// A model's answer contains no valid step.
    #[error("the plan has no step that can be run ({dropped} objects are not steps)")]
    Empty {
        /// Number of dropped lines.
        dropped: usize,
    },
    /// The planner is unavailable.
    #[error("no plan: {0}")]
    Unavailable(String),
}
