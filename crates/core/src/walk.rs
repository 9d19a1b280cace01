//! Walks the files of a workspace on all cores like ripgrep: applies `.gitignore`, `.ignore` and [`ignored`]
//! directories, does not follow links, skips hidden files.

use crate::{budget::Budget, limits::walk as limits, text::is_listed, workspace::Workspace};
use ignore::{
    Match, WalkBuilder, WalkState,
    gitignore::{Gitignore, GitignoreBuilder},
};
use parking_lot::RwLock;
use std::{
    collections::HashMap,
    io::Read,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

/// Directories of generated or downloaded files, skipped even without a `.gitignore`; separated by `|`.
const DIRECTORIES: &str = "\
    node_modules|target|build|dist|DerivedData|venv|.venv|__pycache__|.pytest_cache|.tox|.git|.svn|.hg|\
    .build|Pods|bower_components";

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

#[derive(Debug)]
struct Level {
    above: Option<Arc<Level>>,
    ignore: Gitignore,
    gitignore: Gitignore,
    /// `.gitignore` files above a repository do not apply to it.
    is_repository: bool,
}

/// The rules that apply in each directory of a walk, loaded on entry: `.gitignore`, `.ignore`, hidden names and
/// [`DIRECTORIES`].
///
/// Matching uses the `ignore` crate, but its reader would follow links out of the workspace and block on a pipe. Rule
/// files are therefore opened like other files, with a size limit.
#[derive(Debug, Default)]
struct Rules(RwLock<HashMap<PathBuf, Arc<Level>>>);

impl Rules {
    /// Loads the rules of a directory before it is walked. Returns whether a rule file was too large or not a regular
    /// file.
    fn enter(&self, workspace: &Workspace, directory: &Path) -> bool {
        let (ignore, ignore_refused) = read_rules(workspace, directory, ".ignore");
        let (gitignore, gitignore_refused) = read_rules(workspace, directory, ".gitignore");
        let is_repository = workspace.exists(&directory.join(".git"));
        let above = self.level_of(directory);
        let has_rules = is_repository || !ignore.is_empty() || !gitignore.is_empty();
        let own =
            has_rules.then(|| Arc::new(Level { above: above.clone(), ignore, gitignore, is_repository }));
        if let Some(level) = own.or(above) {
            self.0.write().insert(directory.to_owned(), level);
        }
        ignore_refused || gitignore_refused
    }

    /// Returns whether a file or directory is skipped. Its directory must have been entered.
    fn pass_over(&self, path: &Path, is_directory: bool) -> bool {
        if is_directory && is_ignored_directory(path) {
            return true;
        }
        match self.level_of(path).map_or(Match::None, |level| level.matched(path, is_directory)) {
            Match::Ignore(()) => true,
            Match::Whitelist(()) => false,
            Match::None => path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b".")),
        }
    }

    /// Returns whether a rule file above excludes `directory`.
    fn rule_out(&self, directory: &Path) -> bool {
        self.level_of(directory).is_some_and(|level| level.matched(directory, true).is_ignore())
    }

    fn level_of(&self, path: &Path) -> Option<Arc<Level>> {
        self.0.read().get(path.parent()?).cloned()
    }
}

impl Level {
    /// Returns the innermost match; any `.ignore` takes precedence over any `.gitignore`.
    fn matched(&self, path: &Path, is_directory: bool) -> Match<()> {
        let mut by_gitignore = Match::None;
        let (mut level, mut inside) = (Some(self), true);
        while let Some(rules) = level {
            let by_ignore = rules.ignore.matched(path, is_directory).map(|_| ());
            if !by_ignore.is_none() {
                return by_ignore;
            }
            if inside && by_gitignore.is_none() {
                by_gitignore = rules.gitignore.matched(path, is_directory).map(|_| ());
            }
            inside &= !rules.is_repository;
            level = rules.above.as_deref();
        }
        by_gitignore
    }
}

fn read_rules(workspace: &Workspace, directory: &Path, name: &str) -> (Gitignore, bool) {
    let path = directory.join(name);
    let Ok(opened) = workspace.open_file(&path) else {
        return (Gitignore::empty(), workspace.exists(&path));
    };
    let mut bytes = Vec::new();
    if opened.size > limits::RULE_FILE || opened.file.take(limits::RULE_FILE).read_to_end(&mut bytes).is_err()
    {
        return (Gitignore::empty(), true);
    }
    let mut builder = GitignoreBuilder::new(directory);
    for line in String::from_utf8_lossy(&bytes).trim_start_matches('\u{feff}').lines() {
        // An invalid rule is ignored.
        let _ = builder.add_line(None, line);
    }
    (builder.build().unwrap_or_else(|_| Gitignore::empty()), false)
}

/// Returns whether a folder is skipped because of its name.
pub fn is_ignored_directory(path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(|name| is_listed(name, DIRECTORIES))
}
