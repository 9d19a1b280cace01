//! Plans of an exploration: ops, planners and normalisation.

mod heuristic;
mod json;
mod model;
mod normalise;
mod op;
mod planner;

pub use heuristic::HeuristicPlanner;
pub use model::ModelPlanner;
pub use op::OpKind;
pub use planner::{PlanError, PlanRequest, Planner};

pub(crate) use heuristic::OPEN_ENDS;
pub(crate) use normalise::normalise;
pub(crate) use op::Op;
