//! The trusted workspaces, and which of them covers a folder.

use crate::store::{Store, StoreError, TrustedWorkspace};
use openagents_core::trust::{AgentFiles, covers};
use parking_lot::Mutex;
use std::{
    collections::BTreeSet,
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

type OnChange = Arc<dyn Fn() + Send + Sync>;

/// The trusted workspaces of the store, kept in memory.
pub struct TrustedWorkspaces {
    store: Store,
    rows: Mutex<Vec<TrustedWorkspace>>,
    watchers: Mutex<Vec<OnChange>>,
}

/// Whether agents may start in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// A person trusts it, and has seen what it brings.
    Trusted,
    /// No trusted workspace covers it.
    Unknown,
    /// A trusted workspace covers it, but it brings something that no person has seen. These digests were seen.
    Changed(BTreeSet<String>),
}

impl fmt::Debug for TrustedWorkspaces {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("TrustedWorkspaces").field("rows", &self.rows).finish_non_exhaustive()
    }
}

impl TrustedWorkspaces {
    /// Reads them from the store. If that fails, no workspace is trusted. Blocks.
    pub(crate) fn load(store: Store) -> Self {
        let rows = store.trusted_workspaces().unwrap_or_else(|error| {
            tracing::error!(%error, "could not read the trusted workspaces");
            Vec::new()
        });
        Self { store, rows: Mutex::new(rows), watchers: Mutex::default() }
    }

    /// Returns all of them, by path.
    pub fn list(&self) -> Vec<TrustedWorkspace> {
        self.rows.lock().clone()
    }

    /// Calls `on_change` after every change, from any thread; it must not block.
    pub fn watch(&self, on_change: OnChange) {
        self.watchers.lock().push(on_change);
    }

    /// Decides about a folder, which is canonical. Reads git's files. Blocks.
    pub(crate) fn verdict(&self, folder: &Path, brings: &AgentFiles) -> Verdict {
        let covering: Vec<_> = self.list().into_iter().filter(|row| covers(&row.path, folder)).collect();
        if covering.is_empty() {
            return Verdict::Unknown;
        }
        let accepted = covering.into_iter().flat_map(|row| row.accepted).collect();
        if brings.are_accepted(&accepted) { Verdict::Trusted } else { Verdict::Changed(accepted) }
    }

    /// Stores that a person trusts a folder, which is canonical, with what it brings. In a workspace that covers it
    /// already, that is added there. Blocks.
    pub(crate) fn trust(&self, folder: &Path, brings: &AgentFiles, by: &str) -> Result<PathBuf, StoreError> {
        let covering = self.list().into_iter().filter(|row| covers(&row.path, folder));
        let path = covering.map(|row| row.path).max_by_key(|path| path.components().count());
        let path = path.unwrap_or_else(|| folder.to_owned());
        let digests: Vec<_> = brings.digests().map(str::to_owned).collect();
        self.store.trust_workspace(&path, by, &digests)?;
        self.reload()?;
        Ok(path)
    }

    /// Revokes the trust in exactly this folder; returns whether it was trusted. Blocks.
    pub(crate) fn revoke(&self, path: &Path) -> Result<bool, StoreError> {
        if self.list().iter().all(|row| row.path != path) {
            return Ok(false);
        }
        self.store.revoke_workspace(path)?;
        self.reload()?;
        Ok(true)
    }

    fn reload(&self) -> Result<(), StoreError> {
        {
            // Held while reading, so that an older list does not replace a newer one.
            let mut rows = self.rows.lock();
            *rows = self.store.trusted_workspaces()?;
        }
        let watchers = self.watchers.lock().clone();
        watchers.iter().for_each(|on_change| on_change());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use openagents_core::trust::look;

    #[test]
    fn trust_is_stored_covers_what_is_below_and_can_be_revoked() {
        let (home, keep) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let root = keep.path().canonicalize().unwrap();
        let app = root.join("app");
        std::fs::create_dir_all(app.join("part")).unwrap();
        let store = Store::open(home.path(), &[]).unwrap();
        let trusted = TrustedWorkspaces::load(store.clone());
        let verdict = |folder: &Path| trusted.verdict(folder, &look(folder).unwrap());
        assert_eq!(verdict(&app), Verdict::Unknown);
        trusted.trust(&app, &look(&app).unwrap(), "Window").unwrap();
        assert_eq!((verdict(&app), verdict(&app.join("part"))), (Verdict::Trusted, Verdict::Trusted));
        assert_eq!(verdict(&root), Verdict::Unknown);
        assert_eq!(TrustedWorkspaces::load(store).list(), trusted.list());

        // What a part of it brings is asked about once, and belongs to it.
        std::fs::write(app.join("part/.mcp.json"), "{}").unwrap();
        let part = app.join("part");
        assert_eq!(verdict(&part), Verdict::Changed(BTreeSet::new()));
        assert_eq!(verdict(&app), Verdict::Trusted);
        assert_eq!(trusted.trust(&part, &look(&part).unwrap(), "Terminal").as_ref(), Ok(&app));
        assert_eq!(verdict(&part), Verdict::Trusted);
        let rows = trusted.list();
        assert_eq!((rows.len(), rows[0].by.as_str(), rows[0].accepted.len()), (1, "Terminal", 1));

        assert_eq!(trusted.revoke(&part), Ok(false));
        assert_eq!(trusted.revoke(&app), Ok(true));
        assert_eq!((verdict(&app), verdict(&part)), (Verdict::Unknown, Verdict::Unknown));
    }

    #[test]
    fn a_branch_that_was_seen_once_is_not_asked_about_again() {
        let (home, keep) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let app = keep.path().canonicalize().unwrap();
        let trusted = TrustedWorkspaces::load(Store::open(home.path(), &[]).unwrap());
        for text in ["{}", r#"{"mcpServers": {}}"#] {
            std::fs::write(app.join(".mcp.json"), text).unwrap();
            assert_ne!(trusted.verdict(&app, &look(&app).unwrap()), Verdict::Trusted);
            trusted.trust(&app, &look(&app).unwrap(), "Window").unwrap();
        }
        std::fs::write(app.join(".mcp.json"), "{}").unwrap();
        assert_eq!(trusted.verdict(&app, &look(&app).unwrap()), Verdict::Trusted);
    }
}
