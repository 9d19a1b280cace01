//! Which folders the trust in a folder covers.

use crate::history::WorktreeScope;
use std::path::Path;

/// Returns whether the trust in `trusted` covers `folder`: it is the same, lies below it, or lies in the corresponding
/// folder of another worktree of the same repository. Both paths are canonical.
///
/// Two worktrees have to lead to each other: neither a folder that claims to belong to a trusted repository is covered,
/// nor a folder that a trusted repository claims.
pub fn covers(trusted: &Path, folder: &Path) -> bool {
    let leads = |from: &Path, found: &dyn Fn(&Path) -> bool| {
        WorktreeScope::of(from).folders().iter().any(|sibling| found(sibling))
    };
    folder.starts_with(trusted)
        || leads(trusted, &|sibling| folder.starts_with(sibling))
            && leads(folder, &|sibling| sibling.starts_with(trusted))
}
