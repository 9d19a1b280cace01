//! Rules for skipped files: `.gitignore`, `.ignore`, hidden names and [`ignored`] directories.
//!
//! Matching uses the `ignore` crate, but its reader would follow links out of the workspace and block on a pipe. Rule
//! files are therefore opened like other files, with a size limit.

use super::ignored;
use crate::{limits::walk as limits, workspace::Workspace};
use ignore::{
    Match,
    gitignore::{Gitignore, GitignoreBuilder},
};
use parking_lot::RwLock;
use std::{
    collections::HashMap,
    io::Read,
    path::{Path, PathBuf},
    sync::Arc,
};

/// The rules of one directory, with a link to those above it.
#[derive(Debug)]
struct Level {
    above: Option<Arc<Level>>,
    ignore: Gitignore,
    gitignore: Gitignore,
    /// `.gitignore` files above a repository do not apply to it.
    is_repository: bool,
}

/// The rules that apply in each directory of a walk, loaded on entry.
#[derive(Debug, Default)]
pub(super) struct Rules(RwLock<HashMap<PathBuf, Arc<Level>>>);

impl Rules {
    /// Loads the rules of a directory before it is walked. Returns whether a rule file was too large or not a regular
    /// file.
    pub(super) fn enter(&self, workspace: &Workspace, directory: &Path) -> bool {
        let (ignore, ignore_refused) = read(workspace, directory, ".ignore");
        let (gitignore, gitignore_refused) = read(workspace, directory, ".gitignore");
        let is_repository = workspace.exists(&directory.join(".git"));
        let above = self.around(directory);
        let has_rules = is_repository || !ignore.is_empty() || !gitignore.is_empty();
        let own =
            has_rules.then(|| Arc::new(Level { above: above.clone(), ignore, gitignore, is_repository }));
        if let Some(level) = own.or(above) {
            self.0.write().insert(directory.to_owned(), level);
        }
        ignore_refused || gitignore_refused
    }

    /// Returns whether a file or directory is skipped. Its directory must have been entered.
    pub(super) fn pass_over(&self, path: &Path, is_directory: bool) -> bool {
        if is_directory && ignored::is_ignored_directory(path) {
            return true;
        }
        match self.around(path).map_or(Match::None, |level| level.matched(path, is_directory)) {
            Match::Ignore(()) => true,
            Match::Whitelist(()) => false,
            Match::None => path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b".")),
        }
    }

    /// Returns whether a rule file above excludes `directory`.
    pub(super) fn rule_out(&self, directory: &Path) -> bool {
        self.around(directory).is_some_and(|level| level.matched(directory, true).is_ignore())
    }

    fn around(&self, path: &Path) -> Option<Arc<Level>> {
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

fn read(workspace: &Workspace, directory: &Path, name: &str) -> (Gitignore, bool) {
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
