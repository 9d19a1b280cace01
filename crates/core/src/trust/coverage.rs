//! The folders covered by the trust in a folder.

use crate::git::WorktreeScope;
use std::path::{Path, PathBuf};

/// Returns the path of `folder` relative to the folder covered by the trust in `trusted` that contains it; `None` if it
/// is not covered. The trust covers the trusted folder, everything below it, and the corresponding folders of other
/// worktrees of the same repository. Both paths are canonical.
///
/// Worktrees count only if each lists the other: the claim of one side is not enough.
pub fn place(trusted: &Path, folder: &Path) -> Option<PathBuf> {
    places(trusted, folder).into_iter().next()
}

/// Returns all such paths, the nearest first: a worktree inside another has two of them, and settings in its parents
/// are known from the second.
pub fn places(trusted: &Path, folder: &Path) -> Vec<PathBuf> {
    let below = |top: &Path| folder.strip_prefix(top).ok().map(Path::to_owned);
    let leads_back = || WorktreeScope::of(folder).folders().iter().any(|other| other.starts_with(trusted));
    let worktrees = WorktreeScope::of(trusted);
    let mut places: Vec<_> = worktrees.folders().iter().filter_map(|top| below(top)).collect();
    if places.is_empty() || !leads_back() {
        places = below(trusted).into_iter().collect();
    }
    places.sort_by_key(|place| place.components().count());
    places.dedup();
    places
}

/// Returns whether the trust in `trusted` covers `folder`: see [`place`].
pub fn covers(trusted: &Path, folder: &Path) -> bool {
    place(trusted, folder).is_some()
}
