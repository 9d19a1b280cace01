//! The directories that agents worked in, for the user to choose from.

use super::{logs::History, transcript::Query};
use openagents_core::{budget::Budget, git};
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

/// A directory that agents worked in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecentWorkspace {
    /// The root of the enclosing repository, otherwise the directory itself; exists.
    pub path: PathBuf,
    /// The last component of the path.
    pub name: String,
    /// Last change of a session there, in milliseconds since the epoch.
    pub last_active_ms: i64,
    /// Number of sessions that the agent's own list shows.
    pub sessions: usize,
}

impl History {
    /// Lists existing directories, most recently used first; at most `limit`, 0 for no limit. Excludes `/` and the home
    /// folder.
    pub fn workspaces(&self, limit: usize, budget: &Budget) -> Vec<RecentWorkspace> {
        let listing = self.list(&Query::default(), budget);
        let home = std::env::home_dir().map(|home| git::real(&home));
        let mut tops: HashMap<PathBuf, Option<PathBuf>> = HashMap::new();
        let mut found: HashMap<PathBuf, RecentWorkspace> = HashMap::new();
        for row in listing.rows {
            let Some(cwd) = row.cwd else { continue };
            let top = tops.entry(cwd).or_insert_with_key(|cwd| workspace_of(cwd, home.as_deref()));
            let Some(path) = top else { continue };
            let workspace = found.entry(path.clone()).or_insert_with(|| RecentWorkspace {
                path: path.clone(),
                name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
                last_active_ms: row.updated_at,
                sessions: 0,
            });
            workspace.sessions += 1;
            workspace.last_active_ms = workspace.last_active_ms.max(row.updated_at);
        }
        let mut found: Vec<_> = found.into_values().collect();
        found.sort_by(|a, b| b.last_active_ms.cmp(&a.last_active_ms).then_with(|| a.path.cmp(&b.path)));
        if limit > 0 {
            found.truncate(limit);
        }
        found
    }
}

fn workspace_of(cwd: &Path, home: Option<&Path>) -> Option<PathBuf> {
    if !cwd.is_absolute() || !cwd.is_dir() {
        return None;
    }
    let real = git::real(cwd);
    let usable = |path: &PathBuf| path.parent().is_some() && home != Some(path.as_path());
    // A home folder under version control is not a project, but folders below it may be.
    git::top_of(&real).filter(usable).or(Some(real)).filter(usable)
}
