//! The user's settings for other agents' sessions.

use super::{
    formats,
    log::log_file::LogFile,
    moved::MovedFolders,
    transcript::{Provider, Transcript},
};
use openagents_core::{
    git::{self, WorktreeScope, real_path},
    model::{SettingsError, SettingsStore},
};
use parking_lot::RwLock;
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    path::{Path, PathBuf},
};
use xxhash_rust::xxh3::Xxh3;

/// The key of [`HistorySettings`] among the settings.
pub const HISTORY_SETTINGS: &str = "history";

/// The user's settings for other agents' sessions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct HistorySettings {
    pub index: bool,
    /// Whether paired devices may read them.
    pub devices: bool,
    pub excluded: ExcludedSessions,
    #[serde(skip_serializing_if = "MovedFolders::is_empty")]
    pub moved: MovedFolders,
}

/// Sessions that are neither listed, found, searched, indexed nor read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ExcludedSessions {
    pub agents: Vec<Provider>,
    /// The sessions that ran in these folders or below, as the user named them.
    pub workspaces: Vec<PathBuf>,
    /// The folders that each of the workspaces has covered: its canonical path, and other worktrees of its repository.
    /// They stay excluded when a link is changed or a worktree is removed.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub seen: BTreeMap<PathBuf, BTreeSet<PathBuf>>,
}

impl Default for HistorySettings {
    fn default() -> Self {
        Self {
            index: true,
            devices: false,
            excluded: ExcludedSessions::default(),
            moved: MovedFolders::default(),
        }
    }
}

impl HistorySettings {
    /// Returns the settings to use if the stored ones cannot be read: sessions that the user has excluded must not come
    /// back, so all are.
    pub fn unreadable() -> Self {
        Self {
            index: false,
            devices: false,
            excluded: ExcludedSessions::all(),
            moved: MovedFolders::default(),
        }
    }

    /// Reads the stored settings; the default if there are none. Fails if they cannot be read: sessions that the user
    /// has excluded must not come back. Blocks.
    pub fn stored(settings: &dyn SettingsStore) -> Result<Self, SettingsError> {
        let read = |value| serde_json::from_value(value).map_err(|error| SettingsError(error.to_string()));
        Ok(settings.get(HISTORY_SETTINGS)?.map(read).transpose()?.unwrap_or_default())
    }

    /// Stores the settings. Blocks.
    pub fn store(&self, settings: &dyn SettingsStore) -> Result<(), SettingsError> {
        let value = serde_json::to_value(self).map_err(|error| SettingsError(error.to_string()))?;
        settings.set(HISTORY_SETTINGS, value)
    }
}

impl ExcludedSessions {
    /// Excludes every session.
    pub fn all() -> Self {
        Self { agents: Provider::ALL.to_vec(), ..Self::default() }
    }

    /// Adds a workspace, once.
    pub fn exclude_workspace(&mut self, folder: PathBuf) {
        if !self.workspaces.contains(&folder) {
            self.workspaces.push(folder);
        }
    }

    /// Removes a workspace, and others that are the same folder under another path. Blocks.
    pub fn include_workspace(&mut self, folder: &Path) {
        let same = real_path(folder);
        self.workspaces.retain(|other| other != folder && real_path(other) != same);
        self.seen.retain(|other, _| self.workspaces.contains(other));
    }
}

/// The exclusions of a history, shared by its clones.
/// In doubt, a session counts as excluded.
#[derive(Debug, Default)]
pub(super) struct Exclusions(RwLock<ExcludedSessions>);

impl Exclusions {
    pub(super) fn set(&self, excluded: ExcludedSessions) {
        *self.0.write() = excluded;
    }

    pub(super) fn get(&self) -> ExcludedSessions {
        self.0.read().clone()
    }

    pub(super) fn has_agent(&self, provider: Provider) -> bool {
        self.0.read().agents.contains(&provider)
    }

    /// Resolves the excluded folders as they are now. Blocks.
    pub(super) fn check(&self, moved: &MovedFolders) -> ExclusionCheck<'_> {
        let excluded = self.get();
        let scope = |workspace: &PathBuf| {
            let seen = excluded.seen.get(workspace).into_iter().flatten().cloned();
            (workspace.clone(), WorktreeScope::with_removed(workspace, seen))
        };
        let scopes: Vec<_> = excluded.workspaces.iter().map(scope).collect();
        for (workspace, scope) in &scopes {
            self.see(workspace, scope.folders());
        }
        ExclusionCheck {
            all: self,
            agents: excluded.agents,
            scopes,
            moved: moved.clone(),
            known: HashMap::new(),
        }
    }

    fn see(&self, workspace: &Path, folders: &[PathBuf]) {
        // Paths that are not UTF-8 cannot be stored.
        let folders = folders.iter().filter(|folder| folder.to_str().is_some());
        let is_seen =
            |folder: &&PathBuf| self.0.read().seen.get(workspace).is_some_and(|seen| seen.contains(*folder));
        let new: Vec<_> = folders.filter(|folder| !is_seen(folder)).cloned().collect();
        let mut excluded = self.0.write();
        // The workspace may have been included in the meantime.
        if !new.is_empty() && excluded.workspaces.iter().any(|other| other == workspace) {
            excluded.seen.entry(workspace.to_owned()).or_default().extend(new);
        }
    }
}

impl ExcludedSessions {
    /// Adds the folders that the workspaces cover now to those that they covered before. Blocks.
    pub fn see(&mut self) {
        let all = Exclusions(RwLock::new(std::mem::take(self)));
        drop(all.check(&MovedFolders::default()));
        *self = all.0.into_inner();
    }
}

/// The excluded folders at one point in time, with cached lookups.
#[derive(Debug)]
pub(super) struct ExclusionCheck<'a> {
    all: &'a Exclusions,
    agents: Vec<Provider>,
    /// Each workspace as the user named it, and its folders.
    scopes: Vec<(PathBuf, WorktreeScope)>,
    /// In doubt, a moved folder is also what it was moved to at any time.
    moved: MovedFolders,
    known: HashMap<PathBuf, bool>,
}

impl ExclusionCheck<'_> {
    pub(super) fn holds(&mut self, row: &Transcript) -> bool {
        self.holds_log(row.provider, row.cwd.as_deref(), &row.file_path)
    }

    /// Returns whether a log of a session that ran in `cwd` is excluded.
    pub(super) fn holds_log(&mut self, provider: Provider, cwd: Option<&Path>, log: &Path) -> bool {
        if self.agents.contains(&provider) {
            return true;
        }
        if self.scopes.is_empty() {
            return false;
        }
        // A relative directory would be resolved against the one of this process.
        match cwd.filter(|cwd| cwd.is_absolute()) {
            Some(cwd) => self.holds_folder(cwd),
            None => self.may_hold(provider, log),
        }
    }

    pub(super) fn has_folders(&self) -> bool {
        !self.scopes.is_empty()
    }

    pub(super) fn has_agents(&self) -> bool {
        !self.agents.is_empty()
    }

    /// Returns whether a folder is excluded, or one to which it was moved.
    pub(super) fn holds_folder(&mut self, cwd: &Path) -> bool {
        if let Some(known) = self.known.get(cwd) {
            return *known;
        }
        let steps = self.moved.steps(cwd);
        let holds = std::iter::once(cwd).chain(steps.iter().map(PathBuf::as_path)).any(|folder| {
            self.scopes.iter_mut().any(|(_, scope)| scope.holds(folder)) || self.is_worktree(folder)
        });
        self.known.insert(cwd.to_owned(), holds);
        holds
    }

    /// Returns whether a folder is in a worktree of a repository below an excluded folder.
    fn is_worktree(&mut self, cwd: &Path) -> bool {
        let Some((top, folders)) = git::in_other_worktrees(cwd) else { return false };
        let of = self.scopes.iter_mut().find_map(|(workspace, scope)| {
            folders.iter().any(|folder| scope.holds(folder)).then_some(workspace)
        });
        let Some(workspace) = of else { return false };
        self.all.see(workspace, &[top]);
        true
    }

    /// Returns whether a session without a known directory may have run in an excluded folder.
    fn may_hold(&self, provider: Provider, log: &Path) -> bool {
        let format = formats::spec(provider);
        let mut folders = self.scopes.iter().flat_map(|(workspace, scope)| {
            std::iter::once(workspace.as_path()).chain(scope.folders().iter().map(PathBuf::as_path))
        });
        folders.any(|folder| (format.may_have_run_below)(log, folder))
    }

    /// Returns a hash of the current state of a log and of the excluded folders. It reveals neither: nothing else is
    /// stored about an excluded session.
    pub(super) fn mark(&self, log: &LogFile) -> u128 {
        let mut hash = Xxh3::new();
        for (workspace, _) in &self.scopes {
            hash.update(workspace.as_os_str().as_encoded_bytes());
            hash.update(&[0]);
        }
        for path in self.moved.iter().flat_map(|(old, now)| [old, now]) {
            hash.update(path.as_os_str().as_encoded_bytes());
            hash.update(&[0]);
        }
        hash.update(log.path.as_os_str().as_encoded_bytes());
        hash.update(&log.stamp.size.to_le_bytes());
        hash.update(&log.stamp.mtime_ns.to_le_bytes());
        hash.digest128()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::symlink};

    fn row(provider: Provider, cwd: Option<&Path>, log: &str) -> Transcript {
        let file_path = PathBuf::from(log);
        let stamp = crate::history::FileStamp { size: 1, mtime_ns: 1 };
        let file = LogFile {
            path: file_path,
            earlier: vec![],
            stamp,
            is_dated: false,
            id: "a".to_owned(),
            subagent: false,
            archived: false,
        };
        Transcript { cwd: cwd.map(Path::to_owned), ..file.unread(provider) }
    }

    fn excluding(workspace: &Path) -> Exclusions {
        let mut excluded = ExcludedSessions::default();
        excluded.exclude_workspace(workspace.to_owned());
        Exclusions(RwLock::new(excluded))
    }

    fn holds(exclusions: &Exclusions, cwd: &Path) -> bool {
        exclusions.check(&MovedFolders::default()).holds(&row(Provider::Codex, Some(cwd), "/logs/a.jsonl"))
    }

    fn write(path: PathBuf, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Makes `tree` a linked worktree of the repository `main`.
    fn add_worktree(main: &Path, tree: &Path, name: &str) {
        let own = main.join(".git/worktrees").join(name);
        write(main.join(".git/HEAD"), "ref: refs/heads/main\n");
        write(own.join("gitdir"), &format!("{}\n", tree.join(".git").display()));
        write(own.join("commondir"), "../..\n");
        write(tree.join(".git"), &format!("gitdir: {}\n", own.display()));
    }

    #[test]
    fn exclusion_covers_every_path_of_folder() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        for name in ["work/proj/src", "work/proj2", "other"] {
            fs::create_dir_all(base.join(name)).unwrap();
        }
        symlink(base.join("work"), base.join("link")).unwrap();
        symlink(base.join("work/proj"), base.join("other/proj")).unwrap();
        let rows = [
            ("work/proj", "work/proj", true),
            ("work/proj", "work/proj/src", true),
            ("work/proj/", "work/proj/gone/deep", true),
            ("work/proj/", "work/proj", true),
            ("link/proj", "work/proj/src", true),
            ("link/proj/", "other/proj/src", true),
            ("other/proj", "work/proj", true),
            ("work/proj", "link/proj", true),
            ("work/proj", "other/proj", true),
            ("work/../work/./proj", "work/proj", true),
            ("work/proj", "work/proj2/../proj", true),
            ("work", "other/proj", true),
            ("gone/a/../b", "gone/b/c", true),
            ("work/proj", "work/proj2", false),
            ("work/proj", "work", false),
            ("other", "work/proj", false),
            ("gone/b", "gone/bc", false),
        ];
        for (workspace, cwd, expected) in rows {
            let exclusions = excluding(&base.join(workspace));
            assert_eq!(holds(&exclusions, &base.join(cwd)), expected, "{cwd} without {workspace}");
        }
    }

    #[test]
    fn exclusion_covers_removed_worktrees() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let (main, side, lost) = (base.join("repos/main"), base.join("side"), base.join("lost"));
        add_worktree(&main, &side, "side");
        add_worktree(&main, &lost, "lost");
        fs::create_dir_all(base.join("unrelated")).unwrap();
        for workspace in [main.clone(), side.clone(), base.join("repos")] {
            let exclusions = excluding(&workspace);
            for (cwd, expected) in [
                (main.join("src"), true),
                (side.clone(), true),
                (side.join("src"), true),
                (lost.clone(), true),
                (base.join("unrelated"), false),
            ] {
                let shown = format!("{} without {}", cwd.display(), workspace.display());
                assert_eq!(holds(&exclusions, &cwd), expected, "{shown}");
            }
        }
        let subfolder = excluding(&main.join("src"));
        assert!(holds(&subfolder, &side.join("src/deep")) && !holds(&subfolder, &side.join("docs")));
        let (seen, seen_below) = (excluding(&main), excluding(&base.join("repos")));
        assert!(holds(&seen, &side) && holds(&seen_below, &side));
        // Removed from disk, but still listed.
        fs::remove_dir_all(&lost).unwrap();
        assert!(holds(&excluding(&main), &lost.join("src")));
        // Removed like `git worktree remove` does, and known from before; also after a restart.
        fs::remove_dir_all(&side).unwrap();
        fs::remove_dir_all(main.join(".git/worktrees/side")).unwrap();
        for exclusions in [seen, seen_below] {
            let stored = serde_json::to_string(&exclusions.get()).unwrap();
            let restarted = Exclusions(RwLock::new(serde_json::from_str(&stored).unwrap()));
            assert!(
                holds(&exclusions, &side.join("src")) && holds(&restarted, &side.join("src")),
                "{stored}"
            );
        }
        // A listed worktree in a folder that contains other projects.
        write(main.join(".git/worktrees/root/gitdir"), "/.git\n");
        assert!(!holds(&excluding(&main), &base.join("unrelated")));
    }

    #[test]
    fn exclusion_survives_changed_link() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let (link, first, second) = (base.join("link"), base.join("first"), base.join("second"));
        fs::create_dir_all(&first).unwrap();
        fs::create_dir_all(&second).unwrap();
        symlink(&first, &link).unwrap();
        let exclusions = excluding(&link);
        assert!(holds(&exclusions, &first) && !holds(&exclusions, &second));
        fs::remove_file(&link).unwrap();
        symlink(&second, &link).unwrap();
        assert!(holds(&exclusions, &first) && holds(&exclusions, &second));
        let mut excluded = exclusions.get();
        excluded.exclude_workspace(base.join("third"));
        excluded.include_workspace(&second);
        assert_eq!(excluded.workspaces, [base.join("third")]);
        assert!(excluded.seen.is_empty());
    }

    #[test]
    fn exclusion_covers_unknown_directory() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        fs::create_dir_all(base.join("real/proj")).unwrap();
        symlink(base.join("real/proj"), base.join("link")).unwrap();
        let exclusions = excluding(&base.join("link"));
        let slug = |path: &str| {
            base.join(path).to_string_lossy().replace(|character: char| !character.is_alphanumeric(), "-")
        };
        let cursor = |path: &str| {
            format!("/h/.cursor/projects/{}/agent-transcripts/a.txt", slug(path).trim_start_matches('-'))
        };
        let claude = |path: &str| format!("/h/.claude/projects/{}/a.jsonl", slug(path));
        let relative = Some(Path::new("proj"));
        for (provider, cwd, log, expected) in [
            (Provider::Cursor, None, cursor("real/proj"), true),
            (Provider::Cursor, None, cursor("real/proj/sub"), true),
            // The agent used the link.
            (Provider::Cursor, None, cursor("link"), true),
            (Provider::Cursor, None, cursor("real/other"), false),
            (Provider::Cursor, None, cursor("real"), false),
            (
                Provider::Cursor,
                None,
                "/h/.cursor/projects/empty-window/agent-transcripts/a.txt".to_owned(),
                false,
            ),
            (Provider::ClaudeCode, None, claude("real/proj"), true),
            (Provider::ClaudeCode, None, claude("other"), false),
            (Provider::ClaudeCode, relative, claude("real/proj"), true),
            (Provider::Amp, None, "/h/.local/share/amp/threads/T-1.json".to_owned(), true),
            (Provider::Codex, relative, "/h/.codex/sessions/a.jsonl".to_owned(), true),
        ] {
            assert_eq!(
                exclusions.check(&MovedFolders::default()).holds(&row(provider, cwd, &log)),
                expected,
                "{provider:?} {log}"
            );
            assert!(!Exclusions::default().check(&MovedFolders::default()).holds(&row(provider, cwd, &log)));
        }
    }

    #[test]
    fn mark_changes_with_log_and_exclusions() {
        let file = |path: &str, size, mtime_ns| LogFile {
            earlier: vec![],
            is_dated: false,
            path: path.into(),
            stamp: crate::history::FileStamp { size, mtime_ns },
            id: "a".to_owned(),
            subagent: false,
            archived: false,
        };
        let (one, two) = (excluding(Path::new("/a")), excluding(Path::new("/b")));
        let mark =
            |exclusions: &Exclusions, log: &LogFile| exclusions.check(&MovedFolders::default()).mark(log);
        let same = mark(&one, &file("/log", 1, 2));
        assert_eq!(mark(&one, &file("/log", 1, 2)), same);
        for (exclusions, log) in [
            (&one, file("/log2", 1, 2)),
            (&one, file("/log", 2, 2)),
            (&one, file("/log", 1, 3)),
            (&two, file("/log", 1, 2)),
        ] {
            assert_ne!(mark(exclusions, &log), same);
        }
    }
}
