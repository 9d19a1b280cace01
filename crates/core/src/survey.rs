//! What a workspace and its history say before anything is planned: looked at once, shared by every stage of a run.

use crate::{
    budget::Budget, find, history::History, repository::Repository, update::Findings, workspace::Workspace,
};
use std::sync::{Arc, OnceLock};

/// A workspace with its history and its own words.
#[derive(Debug)]
pub struct Survey {
    /// The workspace.
    pub workspace: Arc<Workspace>,
    /// The past sessions, as they were when the run began.
    pub history: Arc<History>,
    /// What answers the goals; nothing without goals.
    pub findings: Findings,
    repository: OnceLock<Repository>,
}

impl Survey {
    /// Begins a survey; nothing is read before it is asked for.
    pub fn new(workspace: Arc<Workspace>, history: &History) -> Self {
        Self {
            workspace,
            history: Arc::new(history.snapshot()),
            findings: Findings::default(),
            repository: OnceLock::new(),
        }
    }

    /// Finds what answers the goals. Blocks.
    pub fn find(&mut self, goals: &[String], budget: &Budget) {
        let sources = find::Sources { workspace: &self.workspace, history: Some(&self.history) };
        self.findings = find::find_all(&sources, goals, budget);
    }

    /// Returns what the repository says of itself; read by the first caller.
    pub fn repository(&self) -> &Repository {
        self.repository.get_or_init(|| Repository::read(&self.workspace))
    }
}
