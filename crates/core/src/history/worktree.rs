//! The directories of one workspace: the workspace itself and the corresponding folders in other worktrees of its git
//! repository. Reads git's files (gitrepository-layout(5)) without running git.

use super::file;
use crate::limits::history as limits;
use std::{
    collections::HashMap,
    fs,
    path::{Component, Path, PathBuf},
    time::SystemTime,
};

/// The directories of one workspace, with cached lookups.
#[derive(Debug)]
pub(crate) struct WorktreeScope {
    /// As given and canonical, for this and every other worktree.
    folders: Vec<PathBuf>,
    /// The git folder shared by all worktrees.
    common: Option<PathBuf>,
    /// The workspace relative to the root of its worktree.
    inside: PathBuf,
    known: HashMap<PathBuf, bool>,
}

impl WorktreeScope {
    pub(crate) fn of(workspace: &Path) -> Self {
        let root = real(workspace);
        let mut folders = vec![root.clone()];
        let mut common = None;
        let mut inside = PathBuf::new();
        if let Some(tree) = Worktree::around(&root) {
            inside = root.strip_prefix(&tree.top).map(Path::to_owned).unwrap_or_default();
            folders.extend(tree.siblings().into_iter().map(|top| top.join(&inside)));
            common = Some(tree.common);
        }
        folders.sort();
        folders.dedup();
        Self { folders, common, inside, known: HashMap::new() }
    }

    /// Returns whether a session that ran in `cwd` belongs to the workspace.
    pub(crate) fn holds(&mut self, cwd: &Path) -> bool {
        if let Some(known) = self.known.get(cwd) {
            return *known;
        }
        let holds = self.look(cwd);
        self.known.insert(cwd.to_owned(), holds);
        holds
    }

    fn look(&self, cwd: &Path) -> bool {
        let path = real(cwd);
        if self.folders.iter().any(|folder| path.starts_with(folder)) {
            return true;
        }
        // A worktree moved by hand: the repository does not list it, but it still refers to the repository.
        let Some(common) = &self.common else { return false };
        Worktree::around(&path)
            .is_some_and(|tree| tree.common == *common && path.starts_with(tree.top.join(&self.inside)))
    }

    /// Returns the directories, including the workspace itself.
    pub(crate) fn folders(&self) -> &[PathBuf] {
        &self.folders
    }
}

struct Worktree {
    top: PathBuf,
    own: PathBuf,
    /// The git folder shared by all worktrees.
    common: PathBuf,
}

impl Worktree {
    fn around(path: &Path) -> Option<Self> {
        let top = top_of(path)?;
        let git = top.join(".git");
        if git.is_dir() {
            return Some(Self { own: git.clone(), common: real(&git), top });
        }
        let text = read_small(&git)?;
        let folder = top.join(text.strip_prefix("gitdir:")?.trim());
        // Only a worktree's folder has `commondir`; a submodule is a separate repository.
        let common = match read_small(&folder.join("commondir")) {
            Some(common) => real(&folder.join(common.trim())),
            None => real(&folder),
        };
        Some(Self { top, own: folder, common })
    }

    /// Returns the roots of all worktrees of the repository.
    fn siblings(&self) -> Vec<PathBuf> {
        let mut tops = Vec::new();
        if self.common.file_name().is_some_and(|name| name == ".git") {
            tops.extend(self.common.parent().map(Path::to_owned));
        }
        for entry in fs::read_dir(self.common.join("worktrees")).into_iter().flatten().flatten() {
            let folder = entry.path();
            let Some(git_file) = read_small(&folder.join("gitdir")) else { continue };
            // Relative since git 2.48 if `worktree.useRelativePaths` is set.
            let git_file = folder.join(git_file.trim());
            tops.extend(git_file.parent().map(real));
        }
        tops
    }
}

/// Returns the time of the last commit, checkout or merge in the repository of a directory.
///
/// `None` if there is only one entry: after a clone every file is newer than it.
pub(crate) fn last_commit_or_checkout(path: &Path) -> Option<SystemTime> {
    let log = Worktree::around(&real(path))?.own.join("logs/HEAD");
    let metadata = fs::metadata(&log).ok().filter(fs::Metadata::is_file)?;
    let several = |log: Vec<u8>| memchr::memchr_iter(b'\n', &log).nth(1).is_some();
    // A log that is too large to read has several.
    let several = file::read(&log, limits::GIT_FILE).is_none_or(several);
    several.then(|| metadata.modified().ok()).flatten()
}

/// Returns the root of the repository around a directory. Ignores an empty `.git`, which Codex's sandbox leaves behind.
pub(crate) fn top_of(path: &Path) -> Option<PathBuf> {
    let is_top = |folder: &&Path| {
        let git = folder.join(".git");
        git.is_file() || git.join("HEAD").exists()
    };
    path.ancestors().find(is_top).map(Path::to_owned)
}

/// Returns the canonical form of the existing part of a path, followed by the rest without `.` and `..`.
pub(crate) fn real(path: &Path) -> PathBuf {
    for ancestor in path.ancestors() {
        if let Ok(mut found) = ancestor.canonicalize() {
            let rest = path.strip_prefix(ancestor).unwrap_or(Path::new(""));
            for component in rest.components() {
                match component {
                    Component::ParentDir => {
                        found.pop();
                    }
                    Component::Normal(name) => found.push(name),
                    _ => {}
                }
            }
            return found;
        }
    }
    path.to_owned()
}

fn read_small(path: &Path) -> Option<String> {
    String::from_utf8(file::read(path, limits::GIT_FILE)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: PathBuf, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn holds_the_workspace_and_its_other_worktrees() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        for name in
            ["main/.git/worktrees/side", "main/src", "side/src", "main2", "other/.git", "main/vendor/lib"]
        {
            fs::create_dir_all(base.join(name)).unwrap();
        }
        write(
            base.join("main/.git/worktrees/side/gitdir"),
            &format!("{}\n", base.join("side/.git").display()),
        );
        write(base.join("main/.git/HEAD"), "ref: refs/heads/main\n");
        write(base.join("other/.git/HEAD"), "ref: refs/heads/main\n");
        write(base.join("main/.git/worktrees/side/commondir"), "../..\n");
        let git_file = format!("gitdir: {}\n", base.join("main/.git/worktrees/side").display());
        write(base.join("side/.git"), &git_file);
        // A worktree that was moved by hand.
        write(base.join("moved/.git"), &git_file);
        write(base.join("main/vendor/lib/.git"), "gitdir: ../../.git/modules/lib\n");
        fs::create_dir_all(base.join("main/.git/modules/lib")).unwrap();

        let rows = [
            ("main", "main", true),
            ("main", "main/src", true),
            ("main", "main/gone/deeper", true),
            ("main", "main/src/../../main2", false),
            ("main", "main2", false),
            ("main", "side", true),
            ("main", "side/src", true),
            ("main", "moved", true),
            ("main", "other", false),
            ("main", "main/vendor/lib", true),
            ("main", ".", false),
            ("side", "main", true),
            ("side/src", "main/src", true),
            ("side/src", "main", false),
            ("main/vendor/lib", "main", false),
            ("gone", "gone/x", true),
            ("gone", "main", false),
        ];
        for (workspace, cwd, expected) in rows {
            let mut scope = WorktreeScope::of(&base.join(workspace));
            assert_eq!(scope.holds(&base.join(cwd)), expected, "{cwd} in {workspace}");
            assert_eq!(scope.holds(&base.join(cwd)), expected, "asked again");
        }
    }

    #[cfg(unix)]
    #[test]
    fn sees_through_symlinks() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path();
        fs::create_dir_all(base.join("real/src")).unwrap();
        std::os::unix::fs::symlink(base.join("real"), base.join("link")).unwrap();
        assert!(WorktreeScope::of(&base.join("real")).holds(&base.join("link/src")));
        assert!(WorktreeScope::of(&base.join("link")).holds(&base.join("real/gone")));
    }
}
