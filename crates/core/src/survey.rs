//! What a workspace and its history say before anything is planned: looked at once, shared by every stage of a run.

use crate::{history::History, repository::Repository, workspace::Workspace};
use std::sync::{Arc, OnceLock};

/// A workspace with its history and its own words.
#[derive(Debug)]
pub struct Survey {
    /// The workspace.
    pub workspace: Arc<Workspace>,
    /// The past sessions, as they were when the run began.
    pub history: Arc<History>,
    repository: OnceLock<Repository>,
}

impl Survey {
    /// Begins a survey; nothing is read before it is asked for.
    pub fn new(workspace: Arc<Workspace>, history: &History) -> Self {
        Self { workspace, history: Arc::new(history.snapshot()), repository: OnceLock::new() }
    }

    /// Returns what the repository says of itself; read by the first caller.
    pub fn repository(&self) -> &Repository {
        self.repository.get_or_init(|| Repository::read(&self.workspace))
    }
}
