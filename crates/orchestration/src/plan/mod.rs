//! Plans of an exploration: ops, planners and normalisation.

mod op;
mod planner;

pub use crate::plan::planner::{HeuristicPlanner, ModelPlanner};
pub(crate) use crate::plan::{op::normalise, planner::OPEN_ENDS};
pub(crate) use op::Op;
pub use op::OpKind;
pub use planner::{PlanError, PlanRequest, Planner};
