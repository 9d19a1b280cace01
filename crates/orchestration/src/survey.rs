//! Shared input of a run: the workspace, its history and findings, read once before planning.

use openagents_core::{budget::Budget, update::Findings, workspace::Workspace};
use openagents_search::{find, repository::Repository};
use openagents_transcripts::history::History;
use std::sync::{Arc, OnceLock};

/// A workspace with its history and description.
#[derive(Debug)]
pub struct Survey {
    pub workspace: Arc<Workspace>,
    /// Past sessions, as of the start of the run.
    pub history: Arc<History>,
    /// Findings for the goals; empty without goals.
    pub findings: Findings,
    repository: OnceLock<Repository>,
}

impl Survey {
    /// Creates a survey; reads lazily.
    pub fn new(workspace: Arc<Workspace>, history: &History) -> Self {
        Self {
            workspace,
            history: Arc::new(history.snapshot()),
            findings: Findings::default(),
            repository: OnceLock::new(),
        }
    }

    /// Finds the places that answer the goals. Blocks.
    pub fn find(&mut self, goals: &[String], budget: &Budget) {
        let sources = find::Sources { workspace: &self.workspace, history: Some(&self.history) };
        self.findings = find::find_all(&sources, goals, budget);
    }

    /// Returns the repository's description; read on the first call.
    pub fn repository(&self) -> &Repository {
        self.repository.get_or_init(|| Repository::scan(&self.workspace))
    }
}
