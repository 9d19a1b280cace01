//! The folders that the trust in a folder covers.

use crate::history::WorktreeScope;
use std::path::{Path, PathBuf};

/// Returns the path of `folder` relative to the folder covered by the trust in `trusted` that contains it; `None` if it
/// is not covered. The trust covers the trusted folder, everything below it, and the corresponding folders of other
/// worktrees of the same repository. Both paths are canonical.
///
/// Worktrees count only if each lists the other: the claim of one side is not enough.
pub fn place(trusted: &Path, folder: &Path) -> Option<PathBuf> {
    let below = |top: &Path| folder.strip_prefix(top).ok().map(Path::to_owned);
    let leads_back = || WorktreeScope::of(folder).folders().iter().any(|other| other.starts_with(trusted));
    let worktrees = WorktreeScope::of(trusted);
    // One worktree may lie in another: the nearest is meant.
    let places = worktrees.folders().iter().filter_map(|top| below(top));
    places.min_by_key(|place| place.components().count()).filter(|_| leads_back()).or_else(|| below(trusted))
}

/// Returns whether the trust in `trusted` covers `folder`: see [`place`].
pub fn covers(trusted: &Path, folder: &Path) -> bool {
    place(trusted, folder).is_some()
}
