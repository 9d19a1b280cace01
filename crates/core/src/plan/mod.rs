//! What an exploration is going to do.

use crate::{history::History, tool::Limits, workspace::Workspace};

/// Makes a plan. Better planners need a model; the heuristic one needs nothing.
pub trait Planner: Send + Sync + std::fmt::Debug {
    /// Returns the ops in the order of execution.
    fn plan(&self, request: &PlanRequest<'_>) -> Result<Vec<Op>, PlanError>;
}

/// What a planner may look at.
#[derive(Debug, Clone, Copy)]
pub struct PlanRequest<'a> {
    /// What the person wants to know.
    pub goals: &'a [String],
    /// The workspace.
    pub workspace: &'a Workspace,
    /// The past sessions.
    pub history: &'a History,
    /// The caps.
    pub limits: &'a Limits,
}

/// One step.
#[derive(Debug, Clone, PartialEq)]
pub struct Op {}

/// Why there is no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {}
