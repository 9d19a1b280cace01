//! The trusted workspaces, and which of them covers a folder.

use crate::store::{Store, StoreError, TrustedWorkspace};
use openagents_core::trust::{AgentFiles, place, places};
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The user trusts it and has seen its agent settings.
    Trusted,
    /// No trusted workspace covers it.
    Unknown,
    /// A trusted workspace covers it, but it has agent settings that the user has not seen. These are marked.
    Changed,
}

impl fmt::Debug for TrustedWorkspaces {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("TrustedWorkspaces").field("rows", &self.rows).finish_non_exhaustive()
    }
}

impl TrustedWorkspaces {
    /// Loads them from the store. If that fails, no workspace is trusted. Blocks.
    pub(crate) fn load(store: Store) -> Self {
        let rows = store.trusted_workspaces().unwrap_or_else(|error| {
            tracing::error!(%error, "could not read the trusted workspaces");
            Vec::new()
        });
        Self { store, rows: Mutex::new(rows), watchers: Mutex::default() }
    }

    pub fn list(&self) -> Vec<TrustedWorkspace> {
        self.rows.lock().clone()
    }

    /// Calls `on_change` after every change, from any thread; it must not block.
    pub fn watch(&self, on_change: OnChange) {
        self.watchers.lock().push(on_change);
    }

    /// Decides whether agents may start in `folder`, a canonical path, and marks its changes in `brings`. Reads git's
    /// files. Blocks.
    pub(crate) fn verdict(&self, folder: &Path, brings: &mut AgentFiles) -> Verdict {
        let covering: Vec<(PathBuf, BTreeSet<String>)> = self
            .list()
            .into_iter()
            .flat_map(|row| {
                let accepted: BTreeSet<String> = row.accepted.into_iter().collect();
                places(&row.path, folder).into_iter().map(move |place| (place, accepted.clone()))
            })
            .collect();
        match covering.is_empty() {
            true => Verdict::Unknown,
            false if brings.mark_changes(&covering) => Verdict::Trusted,
            false => Verdict::Changed,
        }
    }

    /// Stores that the user trusts `folder`, a canonical path, with its agent settings. If a trusted workspace covers
    /// it, the settings are added there. Blocks.
    pub(crate) fn trust(&self, folder: &Path, brings: &AgentFiles, by: &str) -> Result<PathBuf, StoreError> {
        let covering = self.list().into_iter().filter_map(|row| Some((place(&row.path, folder)?, row.path)));
        let nearest = covering.max_by_key(|(_, path)| path.components().count());
        let (place, path) = nearest.unwrap_or_else(|| (PathBuf::new(), folder.to_owned()));
        let accepted: Vec<_> = brings.accepted(&place).collect();
        self.store.trust_workspace(&path, by, &accepted)?;
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
    use openagents_core::trust::scan_folder;

    #[test]
    fn trust_covers_subfolders_until_revoked() {
        let (home, keep) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let root = keep.path().canonicalize().unwrap();
        let app = root.join("app");
        std::fs::create_dir_all(app.join("part")).unwrap();
        let store = Store::open(home.path(), "").unwrap();
        let trusted = TrustedWorkspaces::load(store.clone());
        let verdict = |folder: &Path| trusted.verdict(folder, &mut scan_folder(folder).unwrap());
        assert_eq!(verdict(&app), Verdict::Unknown);
        trusted.trust(&app, &scan_folder(&app).unwrap(), "Window").unwrap();
        assert_eq!((verdict(&app), verdict(&app.join("part"))), (Verdict::Trusted, Verdict::Trusted));
        assert_eq!(verdict(&root), Verdict::Unknown);
        assert_eq!(TrustedWorkspaces::load(store).list(), trusted.list());

        // The settings of a subfolder are asked about once and belong to the covering workspace.
        std::fs::write(app.join("part/.mcp.json"), "{}").unwrap();
        let part = app.join("part");
        assert_eq!(verdict(&part), Verdict::Changed);
        assert_eq!(verdict(&app), Verdict::Trusted);
        assert_eq!(trusted.trust(&part, &scan_folder(&part).unwrap(), "Terminal").as_ref(), Ok(&app));
        assert_eq!(verdict(&part), Verdict::Trusted);
        let rows = trusted.list();
        assert_eq!((rows.len(), rows[0].by.as_str(), rows[0].accepted.len()), (1, "Terminal", 1));

        assert_eq!(trusted.revoke(&part), Ok(false));
        assert_eq!(trusted.revoke(&app), Ok(true));
        assert_eq!((verdict(&app), verdict(&part)), (Verdict::Unknown, Verdict::Unknown));
    }

    #[test]
    fn accepted_settings_are_bound_to_place_and_scripts() {
        let (home, keep) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let base = keep.path().canonicalize().unwrap();
        let write = |path: &str, text: &str| {
            std::fs::create_dir_all(base.join(path).parent().unwrap()).unwrap();
            std::fs::write(base.join(path), text).unwrap();
        };
        let servers = r#"{"mcpServers": {"a": {"command": "node", "args": ["./tools/mcp.js"]}}}"#;
        for folder in ["app", "app/copy", "app/vendored", "side"] {
            write(&format!("{folder}/.mcp.json"), servers);
            write(&format!("{folder}/tools/mcp.js"), "serve()");
        }
        write("app/.git/HEAD", "ref: refs/heads/main\n");
        write("app/.git/worktrees/side/gitdir", base.join("side/.git").to_str().unwrap());
        write("app/.git/worktrees/side/commondir", "../..\n");
        write("side/.git", &format!("gitdir: {}\n", base.join("app/.git/worktrees/side").display()));
        write("app/vendored/.git/HEAD", "ref: refs/heads/main\n");
        write("app/part/a.txt", "");
        let trusted = TrustedWorkspaces::load(Store::open(home.path(), "").unwrap());
        let app = base.join("app");
        trusted.trust(&app, &scan_folder(&app).unwrap(), "Window").unwrap();
        let is_trusted = |folder: &str| {
            let folder = base.join(folder);
            trusted.verdict(&folder, &mut scan_folder(&folder).unwrap()) == Verdict::Trusted
        };
        let rows = ["app", "app/part", "side", "app/copy", "app/vendored"].map(is_trusted);
        assert_eq!(rows, [true, true, true, false, false]);
        // Each of them is asked about once.
        let vendored = base.join("app/vendored");
        trusted.trust(&vendored, &scan_folder(&vendored).unwrap(), "Window").unwrap();
        assert!(is_trusted("app/vendored") && !is_trusted("app/copy"));
        write("app/vendored/tools/mcp.js", "evil()");
        assert!(!is_trusted("app/vendored") && is_trusted("app"));
        write("app/tools/mcp.js", "evil()");
        assert!(!is_trusted("app") && is_trusted("side"));
    }

    #[test]
    fn trust_remembers_settings_of_earlier_branch() {
        let (home, keep) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let app = keep.path().canonicalize().unwrap();
        let trusted = TrustedWorkspaces::load(Store::open(home.path(), "").unwrap());
        for text in ["{}", r#"{"mcpServers": {}}"#] {
            std::fs::write(app.join(".mcp.json"), text).unwrap();
            assert_ne!(trusted.verdict(&app, &mut scan_folder(&app).unwrap()), Verdict::Trusted);
            trusted.trust(&app, &scan_folder(&app).unwrap(), "Window").unwrap();
        }
        std::fs::write(app.join(".mcp.json"), "{}").unwrap();
        assert_eq!(trusted.verdict(&app, &mut scan_folder(&app).unwrap()), Verdict::Trusted);
    }
}
