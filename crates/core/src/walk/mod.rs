//! Walks the files of a workspace on all cores, as ripgrep would: `.gitignore`, `.ignore` and [`ignored`] directories
//! apply, links are not followed, hidden files are passed over.

mod ignored;
mod rules;

pub(crate) use ignored::is_ignored_directory;

use crate::{budget::Budget, workspace::Workspace};
use ignore::{WalkBuilder, WalkState};
use rules::{Here, Rules};
use std::{
    path::Path,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
};

/// More threads do not make a disk faster.
const MAX_THREADS: usize = 8;

/// How far a walk came.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Walked {
    /// The budget was spent before the last file.
    pub(crate) unfinished: bool,
    /// Files, directories and rule files that could not be read.
    pub(crate) omitted: u64,
}

/// Calls a visitor for every regular file beneath `start`, a directory relative to the workspace, in no order. Each
/// thread has a visitor of its own; it gets paths relative to the workspace, and a file that it fails on is counted as
/// omitted.
///
/// The rule files above `start` apply as well, so a walk of a part never visits what a walk of the whole passes over;
/// only a hidden directory or an [`ignored`] one that no rule file names is walked when it is asked for by name.
pub(crate) fn files<V, E>(
    workspace: &Workspace,
    start: &Path,
    budget: &Budget,
    mut visitor: impl FnMut() -> V,
) -> Walked
where
    V: FnMut(&Path) -> Result<(), E> + Send,
{
    let root = workspace.root();
    let threads = std::thread::available_parallelism().map_or(2, usize::from).min(MAX_THREADS);
    let rules = Rules::default();
    let (unfinished, omitted) = (AtomicBool::new(false), AtomicU64::new(0));
    let omit = || {
        omitted.fetch_add(1, Ordering::Relaxed);
    };
    let start = start.strip_prefix(".").unwrap_or(start);
    for directory in above(start) {
        if rules.enter(workspace, directory) {
            omit();
        }
    }
    if start.ancestors().any(|directory| rules.rule_out(directory)) {
        return Walked { unfinished: false, omitted: omitted.into_inner() };
    }
    // `Rules` reads and applies the rule files; the walker only walks.
    let walker = WalkBuilder::new(root.join(start))
        .standard_filters(false)
        .follow_links(false)
        .threads(threads)
        .build_parallel();
    walker.run(|| {
        let (mut visit, mut here, rules) = (visitor(), Here::default(), &rules);
        let (unfinished, omit) = (&unfinished, &omit);
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
            if entry.depth() > 0 && rules.pass_over(path, is_directory, &mut here) {
                return WalkState::Skip;
            }
            let failed = match kind {
                Some(kind) if kind.is_dir() => rules.enter(workspace, path),
                Some(kind) if kind.is_file() => visit(path).is_err(),
                _ => false,
            };
            if failed {
                omit();
            }
            WalkState::Continue
        })
    });
    Walked { unfinished: unfinished.into_inner(), omitted: omitted.into_inner() }
}

/// Returns the directories that hold `start`, the workspace first; none for the workspace itself.
fn above(start: &Path) -> impl Iterator<Item = &Path> {
    let mut directories: Vec<&Path> = start.ancestors().skip(1).collect();
    directories.reverse();
    directories.into_iter()
}
