//! Git's files, read without running git.

use crate::file;
use std::{
    collections::HashMap,
    fs,
    path::{Component, Path, PathBuf},
    time::SystemTime,
};
use unicode_normalization::UnicodeNormalization as _;

/// Maximum bytes of a `.git` file, which holds one path.
const GIT_FILE: u64 = 16 << 10;
/// Maximum bytes of git's index, which has about 100 per file.
const GIT_INDEX: u64 = 32 << 20;
/// Maximum entries of a folder checked for a name with cased letters: most names have them.
const CASE_ENTRIES: usize = 16;

/// The directories of one workspace and the corresponding folders in other worktrees of its git repository
/// (gitrepository-layout(5)), with cached lookups.
#[derive(Debug)]
pub struct WorktreeScope {
    /// As given and canonical, for this and every other worktree.
    folders: Vec<PathBuf>,
    /// The git folder shared by all worktrees.
    common: Option<PathBuf>,
    /// The workspace relative to the root of its worktree.
    inside: PathBuf,
    home: Option<PathBuf>,
    /// Folders next to the repository that hold its worktrees, judging by their names.
    of_worktrees: Vec<PathBuf>,
    known: HashMap<PathBuf, bool>,
}

impl WorktreeScope {
    pub fn new(workspace: &Path) -> Self {
        Self::with_home(workspace, std::env::home_dir().map(|home| real_path(&home)))
    }

    /// Like [`Self::new`], and also holds other worktrees that are gone but still listed, and the `seen` folders.
    pub fn with_removed(workspace: &Path, seen: impl Iterator<Item = PathBuf>) -> Self {
        let mut scope = Self::new(workspace);
        let listed = Worktree::find(&real_path(workspace)).filter(Worktree::is_listed);
        let listed = listed.map(|tree| tree.listed_worktrees()).unwrap_or_default();
        let removed = listed.into_iter().filter(|top| !top.exists()).map(|top| top.join(&scope.inside));
        let removed: Vec<_> = removed.filter(|folder| !scope.is_too_large(folder)).collect();
        scope.folders.extend(removed.into_iter().chain(seen));
        scope.folders.sort();
        scope.folders.dedup();
        scope
    }

    /// A folder may come with a `.git` that names anything. It counts only if the other side confirms it.
    fn with_home(workspace: &Path, home: Option<PathBuf>) -> Self {
        let root = real_path(workspace);
        let mut scope = Self {
            folders: vec![root.clone()],
            common: None,
            inside: PathBuf::new(),
            home,
            of_worktrees: Vec::new(),
            known: HashMap::new(),
        };
        if let Some(tree) = Worktree::find(&root).filter(Worktree::is_listed) {
            scope.inside = root.strip_prefix(&tree.top).map(Path::to_owned).unwrap_or_default();
            let folders = tree.siblings().into_iter().map(|top| top.join(&scope.inside));
            let folders: Vec<_> = folders.filter(|folder| !scope.is_too_large(folder)).collect();
            scope.folders.extend(folders);
            if scope.inside.as_os_str().is_empty() {
                scope.of_worktrees = beside_repository(&tree.common);
            }
            scope.common = Some(tree.common);
        }
        scope.folders.sort();
        scope.folders.dedup();
        scope
    }

    /// Returns whether a path is a whole disk, the home folder, or a parent of it: it holds other projects.
    fn is_too_large(&self, path: &Path) -> bool {
        path.parent().is_none() || self.home.as_deref().is_some_and(|home| home.starts_with(path))
    }

    /// Returns whether a session that ran in `cwd` belongs to the workspace.
    pub fn holds(&mut self, cwd: &Path) -> bool {
        if let Some(known) = self.known.get(cwd) {
            return *known;
        }
        let holds = self.is_inside(cwd);
        self.known.insert(cwd.to_owned(), holds);
        holds
    }

    fn is_inside(&self, cwd: &Path) -> bool {
        let path = real_path(cwd);
        if self.folders.iter().any(|folder| lies_in(&path, folder)) {
            return true;
        }
        // Git forgets a removed worktree; only the path still shows where it belonged.
        if self.of_worktrees.iter().any(|folder| path.starts_with(folder)) && !path.exists() {
            return true;
        }
        // A worktree moved by hand: the repository does not list it, but it still refers to the repository.
        let Some(common) = &self.common else { return false };
        Worktree::find(&path).is_some_and(|tree| {
            let folder = tree.top.join(&self.inside);
            tree.common == *common && path.starts_with(&folder) && !self.is_too_large(&folder)
        })
    }

    /// Returns the directories, including the workspace itself.
    pub fn folders(&self) -> &[PathBuf] {
        &self.folders
    }
}

/// Returns the folders next to a repository that tools name after it for its worktrees: `shop.worktrees` (GitLens) and
/// `shop-worktrees` next to `shop`.
fn beside_repository(common: &Path) -> Vec<PathBuf> {
    let Some(top) = common.parent().filter(|_| common.ends_with(".git")) else { return Vec::new() };
    let Some((name, parent)) = top.file_name().zip(top.parent()) else { return Vec::new() };
    let beside = |end: &str| {
        let mut name = name.to_owned();
        name.push(end);
        parent.join(name)
    };
    vec![beside(".worktrees"), beside("-worktrees")]
}

struct Worktree {
    top: PathBuf,
    own: PathBuf,
    common: PathBuf,
}

impl Worktree {
    fn find(path: &Path) -> Option<Self> {
        let top = repository_root(path)?;
        let git = top.join(".git");
        if git.is_dir() {
            return Some(Self { own: git.clone(), common: real_path(&git), top });
        }
        let text = read_small(&git)?;
        let folder = top.join(text.strip_prefix("gitdir:")?.trim());
        // Only a worktree's folder has `commondir`; a submodule is a separate repository.
        let common = match read_small(&folder.join("commondir")) {
            Some(common) => real_path(&folder.join(common.trim())),
            None => real_path(&folder),
        };
        Some(Self { top, own: folder, common })
    }

    fn is_listed(&self) -> bool {
        let git = real_path(&self.top).join(".git");
        if git.is_dir() {
            // Not a link to another repository.
            return self.common == git;
        }
        let own = real_path(&self.own);
        let back = read_small(&own.join("gitdir")).map(|back| real_path(&own.join(back.trim())));
        own.parent().is_some_and(|folder| folder == self.common.join("worktrees")) && back == Some(git)
    }

    fn listed_worktrees(&self) -> Vec<PathBuf> {
        let mut tops = Vec::new();
        for entry in fs::read_dir(self.common.join("worktrees")).into_iter().flatten().flatten() {
            let folder = entry.path();
            let Some(git_file) = read_small(&folder.join("gitdir")) else { continue };
            // Relative since git 2.48 if `worktree.useRelativePaths` is set.
            let git_file = folder.join(git_file.trim());
            tops.extend(git_file.parent().map(real_path));
        }
        tops
    }

    /// Returns the roots of the repository's worktrees that lead back to it.
    fn siblings(&self) -> Vec<PathBuf> {
        let mut tops = self.listed_worktrees();
        if self.common.file_name().is_some_and(|name| name == ".git") {
            tops.extend(self.common.parent().map(Path::to_owned));
        }
        tops.retain(|top| Self::find(top).is_some_and(|tree| tree.top == *top && tree.common == self.common));
        tops
    }
}

/// Returns the git folder of the worktree whose root is `root`, to be read by a library. Nothing in it may lead out of it:
/// a folder may come with a `.git` that names anything.
pub fn git_folder(root: &Path) -> Option<PathBuf> {
    let root = real_path(root);
    let tree = Worktree::find(&root).filter(|tree| tree.top == root && tree.is_listed())?;
    let is_worktree = tree.own.join("commondir").is_file();
    // The shared folder of worktrees is not one of them.
    let shared = &tree.common;
    let is_safe = is_self_contained(shared)
        && !shared.join("commondir").exists()
        && (!is_worktree || real_path(&tree.own) != *shared && is_self_contained(&tree.own));
    is_safe.then_some(tree.own)
}

/// Maximum entries of a git folder, and of its packs, that are checked.
const GIT_ENTRIES: usize = 10_000;

/// Returns whether the objects, references and settings of a git folder are its own: no links, pipes or alternates.
fn is_self_contained(folder: &Path) -> bool {
    let objects = folder.join("objects");
    let folders =
        [folder.to_owned(), objects.clone(), objects.join("pack"), objects.join("info"), folder.join("refs")];
    let is_plain = |folder: &PathBuf| {
        let Ok(entries) = fs::read_dir(folder) else { return true };
        let mut count = 0;
        entries.flatten().all(|entry| {
            count += 1;
            let is_plain = entry.file_type().is_ok_and(|kind| kind.is_dir() || kind.is_file());
            // Sockets and links of other programs are not read.
            let is_read = folder != &folders[0]
                || ["HEAD", "config", "index", "packed-refs", "objects", "refs", "shallow", "info"]
                    .iter()
                    .any(|name| entry.file_name() == *name);
            count <= GIT_ENTRIES && (is_plain || !is_read)
        })
    };
    folders.iter().all(is_plain) && !objects.join("info/alternates").exists()
}

/// Returns the root of the worktree around a directory, and the corresponding folders in other worktrees of its
/// repository.
pub fn in_other_worktrees(cwd: &Path) -> Option<(PathBuf, Vec<PathBuf>)> {
    let path = real_path(cwd);
    let tree = Worktree::find(&path)?;
    let inside = path.strip_prefix(&tree.top).ok()?;
    let others = tree.siblings().into_iter().filter(|top| *top != tree.top);
    let others: Vec<_> = others.map(|top| top.join(inside)).collect();
    Some((tree.top, others))
}

/// Returns the folder in the main worktree of a repository that corresponds to one in a removed worktree of it; the root
/// if that folder is missing there. `None` if `removed` was not in one: git forgets it, and tools name its place after the
/// repository. Blocks.
pub fn in_main_worktree(removed: &Path, repository: &Path) -> Option<PathBuf> {
    let removed = real_path(removed);
    let tree = Worktree::find(&real_path(repository)).filter(Worktree::is_listed)?;
    let main = tree.common.parent().filter(|_| tree.common.ends_with(".git"))?;
    let listed = tree.listed_worktrees().into_iter().filter(|top| !top.exists());
    let below_listed = || listed.filter_map(|top| removed.strip_prefix(top).ok().map(Path::to_owned)).next();
    let below_named = || {
        beside_repository(&tree.common).iter().find_map(|folder| {
            let mut below = removed.strip_prefix(folder).ok()?.components();
            below.next()?;
            Some(below.as_path().to_owned())
        })
    };
    let inside = main.join(below_listed().or_else(below_named)?);
    Some(if inside.is_dir() { inside.components().collect() } else { main.to_owned() })
}

/// Returns whether `path` is `folder` or below it. Both are canonical as far as they exist; the missing part is
/// compared without regard to case and Unicode normalization where the file system ignores them.
fn lies_in(path: &Path, folder: &Path) -> bool {
    path.starts_with(folder) || (folded(path).starts_with(folded(folder)) && ignores_case(folder))
}

fn folded(path: &Path) -> PathBuf {
    path.to_string_lossy().nfc().flat_map(char::to_lowercase).collect::<String>().into()
}

/// Returns whether the file system of a folder ignores case. The folder may be gone.
fn ignores_case(folder: &Path) -> bool {
    let Some(exists) = folder.ancestors().find(|ancestor| ancestor.exists()) else { return false };
    // The folder's entries are on its file system; its own name need not be.
    let entries = fs::read_dir(exists).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut names = entries.take(CASE_ENTRIES).chain(exists.ancestors().map(Path::to_owned));
    names.find_map(|path| finds_other_case(&path)).unwrap_or(false)
}

/// Returns whether an existing path is also found by its name in the opposite case; `None` if its name has no case.
fn finds_other_case(path: &Path) -> Option<bool> {
    let name = path.file_name()?.to_str()?;
    let swap = |c: char| if c.is_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() };
    let other: String = name.chars().map(swap).collect();
    let is_same = || {
        let [own, other] = [path, &path.with_file_name(&other)].map(fs::symlink_metadata);
        own.ok()
            .zip(other.ok())
            .is_some_and(|(own, other)| worktree_identity(&own) == worktree_identity(&other))
    };
    (other != name).then(is_same)
}

fn worktree_identity(metadata: &fs::Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt as _;
    (metadata.dev(), metadata.ino())
}

/// Returns the time of the last commit, checkout or merge in the repository of a directory.
///
/// `None` if git's log has only one entry: after a clone, every file is newer than that entry.
pub fn last_commit_or_checkout(path: &Path) -> Option<SystemTime> {
    let log = Worktree::find(&real_path(path))?.own.join("logs/HEAD");
    let metadata = fs::metadata(&log).ok().filter(fs::Metadata::is_file)?;
    let several = |log: Vec<u8>| memchr::memchr_iter(b'\n', &log).nth(1).is_some();
    // A log that is too large to read has several entries.
    let several = file::read_bounded(&log, GIT_FILE).is_none_or(several);
    several.then(|| metadata.modified().ok()).flatten()
}

fn index_of(path: &Path) -> Option<PathBuf> {
    Some(Worktree::find(&real_path(path))?.own.join("index"))
}

/// Returns the root of the repository around a directory. Ignores an empty `.git`, which Codex's sandbox leaves behind.
pub fn repository_root(path: &Path) -> Option<PathBuf> {
    let is_top = |folder: &&Path| {
        let git = folder.join(".git");
        git.is_file() || git.join("HEAD").exists()
    };
    path.ancestors().find(is_top).map(Path::to_owned)
}

/// Returns the canonical form of the existing part of a path, followed by the rest without `.` and `..`.
pub fn real_path(path: &Path) -> PathBuf {
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
    String::from_utf8(file::read_bounded(path, GIT_FILE)?).ok()
}

/// Returns whether git may track a file whose path contains `part` (in lower case) in the repository around a
/// directory: searches its index without parsing it (gitformat-index(5)). False without a repository or an index; true
/// if the index cannot be read, shortens its paths or keeps them elsewhere.
pub fn may_track(directory: &Path, part: &str) -> bool {
    if repository_root(directory).is_none() {
        return false;
    }
    let Some(index) = index_of(directory) else { return true };
    let beside = index.parent().and_then(|folder| fs::read_dir(folder).ok());
    let is_shared = |entry: fs::DirEntry| entry.file_name().to_string_lossy().starts_with("sharedindex");
    if beside.is_none_or(|entries| entries.flatten().any(is_shared)) {
        return true;
    }
    match file::read_bounded(&index, GIT_INDEX) {
        // Version 4 stores only the difference of a path from the previous one.
        Some(bytes) if bytes.starts_with(b"DIRC\0\0\0\x02") || bytes.starts_with(b"DIRC\0\0\0\x03") => {
            memchr::memmem::find(&bytes.to_ascii_lowercase(), part.as_bytes()).is_some()
        }
        Some(_) => true,
        None => index.symlink_metadata().is_ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: PathBuf, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn git_folder_refuses_what_leads_out() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let repository = |name: &str| {
            let git = base.join(name).join(".git");
            write(git.join("HEAD"), "ref: refs/heads/main\n");
            write(git.join("config"), "");
            for inner in ["objects/pack", "objects/info", "refs/heads"] {
                fs::create_dir_all(git.join(inner)).unwrap();
            }
            git
        };
        let secret = repository("secret");
        assert_eq!(git_folder(&base.join("secret")), Some(secret.clone()));
        assert_eq!(git_folder(&base.join("secret/.git")), None);

        write(repository("common").join("commondir"), &secret.display().to_string());
        write(
            repository("alternates").join("objects/info/alternates"),
            &secret.join("objects").display().to_string(),
        );
        let linked = repository("objects");
        fs::remove_dir_all(linked.join("objects")).unwrap();
        std::os::unix::fs::symlink(secret.join("objects"), linked.join("objects")).unwrap();
        let packs = repository("packs").join("objects/pack/pack-1.pack");
        std::os::unix::fs::symlink(secret.join("objects/pack/pack-1.pack"), packs).unwrap();
        let head = repository("head").join("HEAD");
        fs::remove_file(&head).unwrap();
        std::os::unix::fs::symlink(secret.join("HEAD"), &head).unwrap();
        write(base.join("file/.git"), &format!("gitdir: {}\n", secret.display()));
        for name in ["common", "alternates", "objects", "packs", "head", "file"] {
            assert_eq!(git_folder(&base.join(name)), None, "{name}");
        }

        write(secret.join("worktrees/side/gitdir"), &base.join("side/.git").display().to_string());
        write(secret.join("worktrees/side/commondir"), "../..\n");
        write(base.join("side/.git"), &format!("gitdir: {}\n", secret.join("worktrees/side").display()));
        assert_eq!(git_folder(&base.join("side")), Some(secret.join("worktrees/side")));
    }

    #[test]
    fn removed_worktree_is_found_in_its_repository() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        write(base.join("shop/.git/HEAD"), "ref: refs/heads/main\n");
        write(base.join("shop/.git/worktrees/side/gitdir"), &base.join("side/.git").display().to_string());
        fs::create_dir_all(base.join("shop/src")).unwrap();
        fs::create_dir_all(base.join("lib/.git")).unwrap();
        for (removed, now) in [
            ("side", Some("shop")),
            ("side/src", Some("shop/src")),
            ("side/gone", Some("shop")),
            ("shop.worktrees/fix/src", Some("shop/src")),
            ("shop-worktrees/fix", Some("shop")),
            ("shop-worktrees", None),
            ("other", None),
        ] {
            let found = in_main_worktree(&base.join(removed), &base.join("shop/src"));
            assert_eq!(found, now.map(|now| base.join(now)), "{removed}");
        }
        assert_eq!(in_main_worktree(&base.join("side"), &base.join("lib")), None);
    }

    #[test]
    fn scope_holds_workspace_and_worktrees() {
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
            ("main", "main.worktrees/feat/gone", true),
            ("side", "main-worktrees/gone", true),
            ("main/src", "main.worktrees/gone", false),
            ("other", "main.worktrees/gone", false),
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
            let mut scope = WorktreeScope::new(&base.join(workspace));
            assert_eq!(scope.holds(&base.join(cwd)), expected, "{cwd} in {workspace}");
            assert_eq!(scope.holds(&base.join(cwd)), expected, "asked again");
        }
    }

    /// Regression: a folder with a forged `.git` had the whole home folder, or any repository, as its other worktree.
    #[test]
    fn scope_ignores_forged_git_folder() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let home = base.join("home");
        let repository = |name: &str| write(home.join(name).join(".git/HEAD"), "ref: refs/heads/main\n");
        for name in ["forged", "secret", "."] {
            repository(name);
        }
        let secret = home.join("secret/.git").display().to_string();
        // Lists folders that do not refer to it.
        for (number, claimed) in [".git", "secret/.git", "plain/.git", "../../.git"].iter().enumerate() {
            let gitdir = home.join("forged/.git/worktrees").join(number.to_string()).join("gitdir");
            write(gitdir, &format!("{}\n", home.join(claimed).display()));
        }
        // Claims to be a worktree of a repository that does not list it, in four ways.
        write(home.join("alleged/.git"), &format!("gitdir: {secret}\n"));
        write(home.join("listed-elsewhere/.git"), &format!("gitdir: {secret}/worktrees/true\n"));
        write(home.join("secret/.git/worktrees/true/gitdir"), &home.join("true/.git").display().to_string());
        write(home.join("secret/.git/worktrees/true/commondir"), "../..\n");
        write(home.join("true/.git"), &format!("gitdir: {secret}/worktrees/true\n"));
        write(home.join("with-own-folder/.git"), "gitdir: fake\n");
        write(home.join("with-own-folder/fake/commondir"), &secret);
        write(home.join("with-own-folder/fake/gitdir"), "../.git");
        fs::create_dir_all(home.join("linked")).unwrap();
        std::os::unix::fs::symlink(home.join("secret/.git"), home.join("linked/.git")).unwrap();
        // A real worktree of the home folder.
        write(home.join(".git/worktrees/side/gitdir"), &base.join("side/.git").display().to_string());
        write(home.join(".git/worktrees/side/commondir"), "../..\n");
        write(base.join("side/.git"), &format!("gitdir: {}\n", home.join(".git/worktrees/side").display()));

        let rows = [
            ("home/forged", "home/forged", true),
            ("home/forged", "home", false),
            ("home/forged", "home/any", false),
            ("home/forged", "home/secret", false),
            ("home/forged", "home/plain", false),
            ("home/alleged", "home/secret", false),
            ("home/alleged", "home/true", false),
            ("home/listed-elsewhere", "home/secret", false),
            ("home/with-own-folder", "home/secret", false),
            ("home/linked", "home/secret", false),
            ("home/secret", "home/true", true),
            ("home/true", "home/secret", true),
            ("side", "home", false),
            ("side", "home/any", false),
            ("side/dotfiles", "home/dotfiles", true),
        ];
        for (workspace, cwd, expected) in rows {
            let mut scope = WorktreeScope::with_home(&base.join(workspace), Some(home.clone()));
            assert_eq!(scope.holds(&base.join(cwd)), expected, "{cwd} in {workspace}: {:?}", scope.folders());
        }
    }

    /// Two names of one file simulate a file system that ignores case.
    #[test]
    fn scope_finds_removed_folder_in_other_case() {
        for ignores in [true, false] {
            let folder = tempfile::tempdir().unwrap();
            let base = folder.path().canonicalize().unwrap();
            fs::write(base.join("Name"), "").unwrap();
            if ignores {
                fs::hard_link(base.join("Name"), base.join("nAME")).unwrap();
            }
            for (folder, path, same) in [
                ("Proj", "proj/src", ignores),
                ("a/Gr\u{f6}\u{df}e", "A/gro\u{308}\u{df}e", ignores),
                ("Proj", "Proj/src", true),
                ("Proj", "project", false),
            ] {
                let mut scope = WorktreeScope::new(&base.join(folder));
                assert_eq!(scope.holds(&base.join(path)), same, "{path} in {folder}");
            }
        }
    }

    #[test]
    fn scope_resolves_symlinks() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path();
        fs::create_dir_all(base.join("real/src")).unwrap();
        std::os::unix::fs::symlink(base.join("real"), base.join("link")).unwrap();
        assert!(WorktreeScope::new(&base.join("real")).holds(&base.join("link/src")));
        assert!(WorktreeScope::new(&base.join("link")).holds(&base.join("real/gone")));
    }
}
