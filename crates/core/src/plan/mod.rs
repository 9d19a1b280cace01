//! Plans of an exploration: ops, planners and normalisation.

mod heuristic;
mod json;
mod model;
mod normalise;
mod op;
mod planner;

pub use heuristic::HeuristicPlanner;
pub use json::{JsonPlan, parse_json_plan};
pub use model::ModelPlanner;
pub use normalise::{MAX_OPS, Plan, normalise};
pub use op::{Op, OpKind};
pub use planner::{PlanError, PlanRequest, Planner};

pub(crate) use heuristic::OPEN_ENDS;
