//! The directories that a client may use: the default workspace, and those where an agent has worked before.

use crate::error::SessionError;
use openagents_core::{CancellationToken, budget::Budget};
use openagents_transcripts::history::{History, RecentWorkspace};
use parking_lot::{Mutex, MutexGuard};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

/// Maximum number of workspaces from history.
const RECENT: usize = 200;

/// Time limit for reading them.
const TIME: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(crate) struct Known {
    /// The default workspace. Never a whole disk or the home folder, where a desktop app starts.
    root: Option<PathBuf>,
    /// Workspaces opened by an admin since the start.
    opened: Mutex<Vec<PathBuf>>,
    home: Option<PathBuf>,
    history: Arc<History>,
}

impl Known {
    pub(crate) fn new(root: &Path, history: Arc<History>) -> Self {
        let home = std::env::home_dir().map(|home| canonical(&home));
        let mut known = Self { root: None, opened: Mutex::default(), home, history };
        known.root = known.directory(root).ok();
        known
    }

    pub(crate) fn root(&self) -> Option<&Path> {
        self.root.as_deref()
    }

    /// Returns the canonical path of a directory, if it is in a known workspace. Blocks.
    pub(crate) fn admit(&self, path: &Path) -> Result<PathBuf, SessionError> {
        // The iOS app gets the same answer for every refusal; the response time must not reveal whether the folder
        // exists either.
        let found = self.directory(path).inspect_err(|_| drop(self.recent()))?;
        let known = self.root().is_some_and(|root| found.starts_with(root))
            || self.opened().iter().any(|opened| found.starts_with(opened))
            || self.recent().iter().any(|recent| found.starts_with(&recent.path));
        if known { Ok(found) } else { Err(SessionError::UnknownWorkspace(path.display().to_string())) }
    }

    /// Adds a known workspace. Blocks.
    pub(crate) fn open(&self, path: &Path) -> Result<PathBuf, SessionError> {
        let found = self.directory(path)?;
        let mut opened = self.opened();
        if !opened.contains(&found) {
            opened.push(found.clone());
        }
        Ok(found)
    }

    fn directory(&self, path: &Path) -> Result<PathBuf, SessionError> {
        let shown = path.display();
        if !path.is_absolute() {
            return Err(SessionError::invalid(format!("{shown} is not an absolute path")));
        }
        match path.canonicalize() {
            Ok(path) if path.is_dir() && self.is_too_large(&path) => Err(SessionError::invalid(format!(
                "{shown} is too large to be a workspace; choose a folder in it"
            ))),
            Ok(path) if path.is_dir() => Ok(path),
            _ => Err(SessionError::invalid("Invalid workspace: Path does not exist or is not a directory")),
        }
    }

    /// Returns whether a path is a whole disk, the home folder, or a parent of it.
    fn is_too_large(&self, path: &Path) -> bool {
        path.parent().is_none() || self.home.as_deref().is_some_and(|home| home.starts_with(path))
    }

    fn opened(&self) -> MutexGuard<'_, Vec<PathBuf>> {
        self.opened.lock()
    }

    /// Lists the usable workspaces of history, last active first. Blocks.
    pub(crate) fn recent(&self) -> Vec<RecentWorkspace> {
        let mut found = self.history.workspaces(RECENT, &Budget::within(TIME, &CancellationToken::new()));
        // An agent that once ran in a parent of the home folder must not open that folder to every client.
        found.retain(|found| !self.is_too_large(&found.path));
        found
    }
}

fn canonical(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_disk_is_not_a_default_workspace() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        let known = |root: &Path| Known::new(root, Arc::new(History::empty()));
        assert_eq!(known(&path).root(), Some(path.as_path()));
        assert_eq!(known(&path).admit(&path).ok(), Some(path.clone()));
        for root in [Path::new("/"), &path.join("missing")] {
            assert_eq!(known(root).root(), None);
            assert!(known(root).admit(&path).is_err());
        }
    }

    #[test]
    fn parents_of_the_home_folder_are_too_large() {
        let folder = tempfile::tempdir().unwrap();
        let homes = folder.path().canonicalize().unwrap();
        let home = homes.join("me");
        let project = home.join("project");
        std::fs::create_dir_all(&project).unwrap();
        let mut known = Known::new(&homes.join("missing"), Arc::new(History::empty()));
        known.home = Some(home.clone());
        for (path, expected) in [(&homes, false), (&home, false), (&project, true)] {
            assert_eq!(known.open(path).is_ok(), expected, "{}", path.display());
        }
        assert!(known.admit(&homes).is_err());
    }
}
