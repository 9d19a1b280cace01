//! All history on this machine, or of one workspace, or as of the start of a run.

use super::{
    index::{MemoryIndex, TranscriptIndex},
    roots::HistoryRoots,
    transcript::Transcript,
};
use std::{
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

/// All history on this machine.
#[derive(Debug, Clone)]
pub struct History {
    pub(super) roots: HistoryRoots,
    pub(super) index: Arc<dyn TranscriptIndex>,
    /// Limits the history to sessions of this directory.
    pub(super) workspace: Option<PathBuf>,
    /// In a snapshot: all sessions of the first complete listing.
    pub(super) listed: Option<OnceLock<Vec<Transcript>>>,
}

impl History {
    /// Reads `roots`; `index` caches parsed logs.
    pub fn new(roots: HistoryRoots, index: Arc<dyn TranscriptIndex>) -> Self {
        Self { roots, index, workspace: None, listed: None }
    }

    /// Returns a history without sessions.
    pub fn empty() -> Self {
        Self::new(HistoryRoots::default(), Arc::new(MemoryIndex::default()))
    }

    /// Returns the history for one run: the first complete listing is reused, so that later ones are cheap and
    /// consistent.
    pub fn snapshot(&self) -> Self {
        Self { listed: Some(OnceLock::new()), ..self.clone() }
    }

    /// Returns the history limited to one workspace: sessions that ran in `workspace` or in another worktree of its
    /// repository. Other sessions are not listed, found by id or searched; neither are those with an unknown directory.
    pub fn of_workspace(&self, workspace: &Path) -> Self {
        Self { workspace: Some(workspace.to_owned()), listed: None, ..self.clone() }
    }
}
