//! Walks the files of a workspace on all cores like ripgrep: applies `.gitignore`, `.ignore` and [`ignored`]
//! directories, does not follow links, skips hidden files.

mod ignored;
mod rules;

pub use ignored::is_ignored_directory;

use crate::{budget::Budget, limits::walk as limits, workspace::Workspace};
use ignore::{WalkBuilder, WalkState};
use rules::Rules;
use std::{
    path::Path,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
};

/// Result of a walk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Walked {
    /// The budget was spent before the last file.
    pub unfinished: bool,
    /// Number of unreadable files, directories and rule files.
    pub omitted: u64,
}

/// Calls a visitor for every regular file below `start`, a directory relative to the workspace, in no particular order.
/// Each thread has its own visitor, which gets paths relative to the workspace; files for which it fails count as
/// omitted.
///
/// Rule files above `start` apply as well, so a partial walk never visits files that a full walk skips. The exception
/// is a hidden or [`ignored`] `start` that no rule file names.
pub fn files<V, E>(
    workspace: &Workspace,
    start: &Path,
    budget: &Budget,
    mut visitor: impl FnMut() -> V,
) -> Walked
where
    V: FnMut(&Path) -> Result<(), E> + Send,
{
    let root = workspace.root();
    let threads = std::thread::available_parallelism().map_or(2, usize::from).min(limits::THREADS);
    let rules = Rules::default();
    let (unfinished, omitted) = (AtomicBool::new(false), AtomicU64::new(0));
    let omit = || {
        omitted.fetch_add(1, Ordering::Relaxed);
    };
    let start = start.strip_prefix(".").unwrap_or(start);
    for directory in start.ancestors().skip(1).collect::<Vec<_>>().into_iter().rev() {
        if rules.enter(workspace, directory) {
            omit();
        }
    }
    if start.ancestors().any(|directory| rules.rule_out(directory)) {
        return Walked { unfinished: false, omitted: omitted.into_inner() };
    }
    // `Rules` reads and applies the rule files instead of the walker.
    let walker = WalkBuilder::new(root.join(start))
        .standard_filters(false)
        .follow_links(false)
        .threads(threads)
        .build_parallel();
    walker.run(|| {
        let mut visit = visitor();
        let (rules, unfinished, omit) = (&rules, &unfinished, &omit);
        Box::new(move |entry| {
            if budget.spent() {
                unfinished.store(true, Ordering::Relaxed);
                return WalkState::Quit;
            }
            let Ok(entry) = entry else {
                omit();
                return WalkState::Continue;
            };
            let Ok(path) = entry.path().strip_prefix(root) else { return WalkState::Skip };
            let kind = entry.file_type();
            let is_directory = kind.is_some_and(|kind| kind.is_dir());
            if entry.depth() > 0 && rules.pass_over(path, is_directory) {
                return WalkState::Skip;
            }
            let is_file = kind.is_some_and(|kind| kind.is_file());
            if is_directory && rules.enter(workspace, path) || is_file && visit(path).is_err() {
                omit();
            }
            WalkState::Continue
        })
    });
    Walked { unfinished: unfinished.into_inner(), omitted: omitted.into_inner() }
}
