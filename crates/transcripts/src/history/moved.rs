//! Folders that were moved or renamed, according to the user.

use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// Where folders are now, by their old paths. An entry also covers everything below the old folder.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MovedFolders(BTreeMap<PathBuf, PathBuf>);

impl MovedFolders {
    /// Stores where a folder is now; `None` forgets it.
    pub fn set(&mut self, old: PathBuf, now: Option<PathBuf>) {
        match now {
            Some(now) => self.0.insert(old, now),
            None => self.0.remove(&old),
        };
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&Path, &Path)> {
        self.0.iter().map(|(old, now)| (old.as_path(), now.as_path()))
    }

    /// Returns those whose old folder does not exist: a folder that exists is its own, even if it was moved there later.
    /// Blocks.
    pub(super) fn in_effect(&self) -> Self {
        Self(
            self.0
                .iter()
                .filter(|(old, _)| !old.exists())
                .map(|(old, now)| (old.clone(), now.clone()))
                .collect(),
        )
    }

    /// Returns where a folder is now; `None` if it was not moved.
    pub(super) fn find(&self, folder: &Path) -> Option<PathBuf> {
        self.steps(folder).pop()
    }

    /// Returns where a folder has been since, in order: it may have been moved several times, and two may have been swapped.
    pub(super) fn steps(&self, folder: &Path) -> Vec<PathBuf> {
        let mut steps: Vec<PathBuf> = Vec::new();
        for _ in 0..self.0.len() {
            let from = steps.last().map_or(folder, PathBuf::as_path);
            let covers = from.ancestors().find_map(|above| self.0.get_key_value(above));
            let Some((old, now)) = covers else { break };
            let inside = from.strip_prefix(old).unwrap_or(Path::new(""));
            // Without the slash that joining an empty path adds.
            steps.push(now.join(inside).components().collect());
        }
        steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moved(entries: &[(&str, &str)]) -> MovedFolders {
        MovedFolders(entries.iter().map(|(old, now)| (old.into(), now.into())).collect())
    }

    #[test]
    fn nearest_entry_covers_what_is_below() {
        let folders = moved(&[("/a", "/x"), ("/a/shop", "/shop"), ("/x", "/y"), ("/p", "/q"), ("/q", "/p")]);
        for (folder, now) in [
            ("/a/shop", Some("/shop")),
            ("/a/shop/src", Some("/shop/src")),
            ("/a/other", Some("/y/other")),
            ("/a", Some("/y")),
            ("/ab", None),
            ("/elsewhere", None),
        ] {
            assert_eq!(folders.find(Path::new(folder)), now.map(PathBuf::from), "{folder}");
        }
        assert!(folders.find(Path::new("/p")).is_some(), "swapped folders end");
        assert_eq!(folders.steps(Path::new("/a/b")), ["/x/b", "/y/b"].map(PathBuf::from));
    }

    #[test]
    fn folder_that_exists_is_its_own() {
        let base = tempfile::tempdir().unwrap();
        let (old, now) = (base.path().join("old"), base.path().join("now"));
        let mut folders = MovedFolders::default();
        folders.set(old.clone(), Some(now.clone()));
        assert_eq!(folders.in_effect().find(&old), Some(now));
        std::fs::create_dir(&old).unwrap();
        assert_eq!(folders.in_effect().find(&old), None);
        folders.set(old, None);
        assert_eq!(folders, MovedFolders::default());
    }
}
