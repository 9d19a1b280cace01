//! All history on this machine, or of one workspace, or as of the start of a run.

use super::{
    index::{MemoryIndex, TranscriptIndex},
    roots::HistoryRoots,
    transcript::Transcript,
    worktree::WorktreeScope,
};
use parking_lot::Mutex;
use std::{
    io,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

/// All history on this machine.
#[derive(Debug, Clone)]
pub struct History {
    pub(super) roots: HistoryRoots,
    pub(super) index: Arc<dyn TranscriptIndex>,
    /// Limits the history to sessions of one workspace.
    limit: Option<Arc<WorkspaceLimit>>,
    /// In a snapshot: all sessions of the first complete listing.
    pub(super) listed: Option<OnceLock<Vec<Transcript>>>,
}

impl History {
    /// Reads `roots`; `index` caches parsed logs.
    pub fn new(roots: HistoryRoots, index: Arc<dyn TranscriptIndex>) -> Self {
        Self { roots, index, limit: None, listed: None }
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
    /// repository. Other sessions are not listed, found by id, searched or read; neither are those with an unknown
    /// directory. A limit that the history has already stays.
    pub fn of_workspace(&self, workspace: &Path) -> Self {
        let outer = self.limit.clone();
        let limit = WorkspaceLimit { workspace: workspace.to_owned(), outer, scope: OnceLock::new() };
        Self { limit: Some(Arc::new(limit)), listed: None, ..self.clone() }
    }

    /// Returns whether it is limited to one workspace.
    pub fn is_limited(&self) -> bool {
        self.limit.is_some()
    }

    /// Drops the sessions that this history does not hold.
    pub(super) fn retain_own(&self, rows: &mut Vec<Transcript>) {
        if let Some(limit) = &self.limit {
            rows.retain(|row| limit.holds(row));
        }
    }

    /// Fails if this history does not hold `transcript`, which may come from another one.
    pub(super) fn check(&self, transcript: &Transcript) -> io::Result<()> {
        match &self.limit {
            Some(limit) if !limit.holds(transcript) => {
                let message = format!("session {} did not run in this workspace", transcript.id);
                Err(io::Error::new(io::ErrorKind::NotFound, message))
            }
            _ => Ok(()),
        }
    }
}

/// One workspace. Its worktrees are read once, and each directory is looked up once.
#[derive(Debug)]
struct WorkspaceLimit {
    workspace: PathBuf,
    outer: Option<Arc<WorkspaceLimit>>,
    scope: OnceLock<Mutex<WorktreeScope>>,
}

impl WorkspaceLimit {
    fn holds(&self, transcript: &Transcript) -> bool {
        // A relative directory would be one of this process's.
        let Some(cwd) = transcript.cwd.as_deref().filter(|cwd| cwd.is_absolute()) else { return false };
        let scope = self.scope.get_or_init(|| Mutex::new(WorktreeScope::of(&self.workspace)));
        scope.lock().holds(cwd) && self.outer.as_ref().is_none_or(|outer| outer.holds(transcript))
    }
}
