//! Which files are passed over: `.gitignore`, `.ignore`, hidden names and [`ignored`] directories.
//!
//! The matching is the `ignore` crate's. Reading is ours: it would follow links out of the workspace and wait for a
//! pipe, so rule files are opened like every other file, and only up to a size.

use super::ignored;
use crate::workspace::Workspace;
use ignore::{
    Match,
    gitignore::{Gitignore, GitignoreBuilder},
};
use std::{
    collections::HashMap,
    io::Read,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
};

/// A larger rule file is passed over.
const RULE_FILE: u64 = 256 * 1024;

/// The rules of one directory, and of those above it.
#[derive(Debug)]
struct Level {
    above: Option<Arc<Level>>,
    ignore: Gitignore,
    gitignore: Gitignore,
    /// The `.gitignore` files above a repository are none of its business.
    is_repository: bool,
}

/// The rules of a walk, directory by directory as they are entered.
#[derive(Debug, Default)]
pub(super) struct Rules(RwLock<HashMap<PathBuf, Arc<Level>>>);

/// The rules that hold in the directory asked about last: a walk asks for all files of a directory in a row.
#[derive(Debug, Default)]
pub(super) struct Here {
    directory: PathBuf,
    level: Option<Arc<Level>>,
}

impl Rules {
    /// Reads the rules of a directory that is about to be walked. Returns whether one of its files was too large or
    /// no regular file.
    pub(super) fn enter(&self, workspace: &Workspace, directory: &Path) -> bool {
        let (ignore, ignore_refused) = read(workspace, directory, ".ignore");
        let (gitignore, gitignore_refused) = read(workspace, directory, ".gitignore");
        let is_repository = workspace.exists(&directory.join(".git"));
        if is_repository || !ignore.is_empty() || !gitignore.is_empty() {
            let above = directory.parent().and_then(|parent| self.nearest(parent));
            let level = Arc::new(Level { above, ignore, gitignore, is_repository });
            self.0.write().unwrap_or_else(PoisonError::into_inner).insert(directory.to_owned(), level);
        }
        ignore_refused || gitignore_refused
    }

    /// Returns whether a file or directory is passed over. Its directory has been entered.
    pub(super) fn pass_over(&self, path: &Path, is_directory: bool, here: &mut Here) -> bool {
        if is_directory && ignored::is_ignored_directory(path) {
            return true;
        }
        let directory = path.parent().unwrap_or(Path::new(""));
        if here.level.is_none() || here.directory != directory {
            *here = Here { directory: directory.to_owned(), level: self.nearest(directory) };
        }
        match here.level.as_deref().map_or(Match::None, |level| level.matched(path, is_directory)) {
            Match::Ignore(()) => true,
            Match::Whitelist(()) => false,
            Match::None => path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b".")),
        }
    }

    /// Returns whether a rule file of a directory above leaves `directory` out.
    pub(super) fn rule_out(&self, directory: &Path) -> bool {
        let level = directory.parent().and_then(|parent| self.nearest(parent));
        level.is_some_and(|level| matches!(level.matched(directory, true), Match::Ignore(())))
    }

    fn nearest(&self, directory: &Path) -> Option<Arc<Level>> {
        let levels = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if levels.is_empty() {
            return None;
        }
        directory.ancestors().find_map(|ancestor| levels.get(ancestor).cloned())
    }
}

impl Level {
    /// The innermost rule wins, and any `.ignore` beats any `.gitignore`.
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

fn read(workspace: &Workspace, directory: &Path, name: &str) -> (Gitignore, bool) {
    let path = directory.join(name);
    let Ok(opened) = workspace.open_file(&path) else {
        return (Gitignore::empty(), workspace.exists(&path));
    };
    let mut bytes = Vec::new();
    if opened.size > RULE_FILE || opened.file.take(RULE_FILE).read_to_end(&mut bytes).is_err() {
        return (Gitignore::empty(), true);
    }
    let mut builder = GitignoreBuilder::new(directory);
    for line in String::from_utf8_lossy(&bytes).trim_start_matches('\u{feff}').lines() {
        // A rule that makes no sense costs only itself.
        let _ = builder.add_line(None, line);
    }
    (builder.build().unwrap_or_else(|_| Gitignore::empty()), false)
}
