//! Which directories a client may name: the server's own root, and those where an agent has worked before.

use crate::error::SessionError;
use openagents_core::{CancellationToken, budget::Budget, history::History};
use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// Workspaces that history is asked for.
const RECENT: usize = 200;

/// How long history is looked at for them.
const TIME: Duration = Duration::from_secs(2);

/// A workspace that a picker offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recent {
    /// Its folder.
    pub path: PathBuf,
    /// The last part of its path.
    pub name: String,
    /// Milliseconds since the epoch.
    pub last_active_ms: i64,
    /// Sessions of other agents in it.
    pub sessions: usize,
}

#[derive(Debug)]
pub(crate) struct Known {
    /// The server's own workspace. A whole disk or home folder is none: a desktop app that was double-clicked starts
    /// there, and that must not open all of it to every client.
    root: Option<PathBuf>,
    /// Opened by the person at this machine since the start.
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

    /// Returns the server's own workspace, if it is one.
    pub(crate) fn root(&self) -> Option<&Path> {
        self.root.as_deref()
    }

    /// Returns the canonical form of a directory that a client named, if it may be used. Blocks.
    pub(crate) fn admit(&self, path: &Path) -> Result<PathBuf, SessionError> {
        let found = self.directory(path).inspect_err(|_| {
            // As slow as for a folder that is there and not known: the time would tell which it is.
            self.recent();
        })?;
        let known = self.root().is_some_and(|root| found.starts_with(root))
            || self.opened().iter().any(|opened| found.starts_with(opened))
            || self.recent().iter().any(|recent| found.starts_with(&recent.path));
        if known { Ok(found) } else { Err(SessionError::UnknownWorkspace(path.display().to_string())) }
    }

    /// Makes a directory known: the person at this machine has named it. Blocks.
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

    /// A whole disk, the home folder, or what holds it.
    fn is_too_large(&self, path: &Path) -> bool {
        path.parent().is_none() || self.home.as_deref().is_some_and(|home| home.starts_with(path))
    }

    fn opened(&self) -> MutexGuard<'_, Vec<PathBuf>> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lists the workspaces of history that may be used, last active first. Blocks.
    pub(crate) fn recent(&self) -> Vec<Recent> {
        let found =
            self.history.workspaces(RECENT, &Budget::within(TIME, &CancellationToken::new())).into_iter();
        found
            .filter_map(|found| {
                let path = found.path.canonicalize().ok()?;
                // An agent that was once started in the home folder does not open it to every client.
                let usable = path.is_dir() && !self.is_too_large(&path);
                let (name, last_active_ms, sessions) = (found.name, found.last_active_ms, found.sessions);
                usable.then_some(Recent { path, name, last_active_ms, sessions })
            })
            .collect()
    }
}

fn canonical(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_was_started_on_a_whole_disk_opens_none_of_it() {
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
    fn what_holds_the_home_folder_is_too_large() {
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
