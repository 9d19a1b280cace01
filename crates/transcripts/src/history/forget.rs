//! Removes stored data about sessions that are gone or excluded.

use super::{
    formats,
    list::Folder,
    logs::History,
    search_text::word_index::SessionKey,
    transcript::{Provider, Transcript},
};
use openagents_core::budget::Budget;
use std::{
    collections::{BTreeMap, HashSet},
    ffi::OsStr,
    io,
    path::Path,
};

impl History {
    /// Drops excluded sessions from the cache, and sessions whose logs are gone and were outside the agents' folders.
    /// Blocks.
    pub fn forget_excluded(&self) {
        let excluded = parking_lot::Mutex::new(self.exclusions());
        let is_elsewhere =
            |row: &Transcript| !self.roots.iter().any(|(_, root)| row.file_path.starts_with(root));
        self.cache.forget(&|row| excluded.lock().holds(row) || (is_elsewhere(row) && is_gone(row)));
    }

    /// Drops everything from the cache.
    pub fn clear_cache(&self) {
        self.cache.forget(&|_| true);
    }

    /// Checkpoints the cache: its write-ahead log is moved into the database file. Blocks.
    pub fn checkpoint(&self) {
        self.cache.checkpoint();
    }

    pub(super) fn forget_vanished(&self, folders: &[Folder]) {
        let here: HashSet<&OsStr> =
            folders.iter().flat_map(|folder| &folder.files).map(|file| file.path.as_os_str()).collect();
        let mut gone = HashSet::new();
        for folder in folders {
            let cached = self.cache.load(&folder.source.root);
            let missing = cached.values().filter(|(_, row)| !here.contains(row.file_path.as_os_str()));
            gone.extend(missing.filter(|(_, row)| is_gone(row)).map(|(_, row)| row.file_path.clone()));
        }
        if !gone.is_empty() {
            self.cache.forget(&|row| gone.contains(&row.file_path));
        }
    }

    /// Returns those of `sessions` that are gone or excluded; none for an agent whose sessions may only be unreachable.
    /// Blocks.
    pub fn gone(&self, sessions: &[SessionKey], budget: &Budget) -> Vec<SessionKey> {
        let mut by_agent: BTreeMap<Provider, Vec<&str>> = BTreeMap::new();
        for (provider, id) in sessions {
            by_agent.entry(*provider).or_default().push(id);
        }
        let mut gone = Vec::new();
        for (provider, ids) in by_agent {
            let here: HashSet<String> =
                self.find_each(&ids, Some(provider), budget).into_iter().map(|row| row.id).collect();
            if budget.spent() || !self.is_reachable(provider, budget) {
                continue;
            }
            let missing = ids.into_iter().filter(|id| !here.contains(*id));
            gone.extend(missing.map(|id| (provider, id.to_owned())));
        }
        gone
    }

    /// Returns whether the folders of an agent can be read: on an unmounted disk, all of its sessions are missing.
    pub(crate) fn is_reachable(&self, provider: Provider, budget: &Budget) -> bool {
        if self.excludes(provider) {
            return true;
        }
        let is_reachable = |root: &Path| {
            std::fs::read_dir(root).is_ok()
                || root.is_file()
                || (root.symlink_metadata().is_err() && root.parent().is_some_and(Path::is_dir))
        };
        let own = self.roots.iter().filter(|(other, _)| *other == provider);
        // A busy database yields no sessions.
        let is_database = formats::spec(provider).is_database;
        own.into_iter().all(|(_, root)| is_reachable(root))
            && (!is_database
                || self
                    .discover(Some(provider), budget)
                    .iter()
                    .any(|folder| folder.files.iter().any(|file| !folder.kept.contains_key(&file.path))))
    }
}

/// Returns whether a log no longer exists at its path, even if it was found at another one. A session in a database has
/// a path below the database's file, which may be busy.
fn is_gone(row: &Transcript) -> bool {
    let path = &row.file_path;
    if path.parent().is_some_and(Path::is_file) {
        let opened = (formats::spec(row.provider).open)(row.files());
        return opened.is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
    }
    !path.exists()
}
