//! Where a folder that no longer exists may be: with git repositories that git itself made.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use openagents_core::{CancellationToken, budget::Budget};
use openagents_search::moved::{MoveEvidence, MovedTo, moved_to};
use openagents_transcripts::history::{
    ExcludedSessions, History, HistoryRoots, MemoryListingCache, MovedFolders, Provider, Query,
};
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
    time::Duration,
};

struct Stage {
    _folder: tempfile::TempDir,
    base: PathBuf,
    history: History,
}

impl Stage {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let roots = HistoryRoots::default()
            .with(Provider::Codex, base.join("codex"))
            .with(Provider::ClaudeCode, base.join("claude"));
        Self { history: History::new(roots, Arc::new(MemoryListingCache::default())), base, _folder: folder }
    }

    fn git(&self, folder: &str, arguments: &[&str]) -> String {
        let folder = self.base.join(folder);
        fs::create_dir_all(&folder).unwrap();
        let output = Command::new("git")
            .args(["-c", "user.name=Ada", "-c", "user.email=ada@example.com"])
            .args(arguments)
            .current_dir(folder)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn repository(&self, name: &str) -> String {
        self.git(name, &["init", "-q"]);
        self.git(name, &["commit", "-q", "--allow-empty", "-m", name]);
        self.git(name, &["rev-parse", "HEAD"])
    }

    fn write(&self, path: &str, lines: &[Value]) {
        let path = self.base.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, lines.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    }

    fn codex(&self, number: u8, cwd: &str, git: Value) {
        let id = format!("019a0ce1-d491-76d2-93ba-0d47dde3265{number}");
        let meta =
            json!({"id": id, "cwd": self.base.join(cwd), "timestamp": "2026-11-01T10:00:00Z", "git": git});
        let prompt = json!({"type": "user_message", "message": "Go"});
        let line =
            |kind, payload| json!({"timestamp": "2026-11-01T10:00:00Z", "type": kind, "payload": payload});
        self.write(
            &format!("codex/sessions/2026/11/01/rollout-2026-11-01T10-00-00-{id}.jsonl"),
            &[line("session_meta", meta), line("event_msg", prompt)],
        );
    }

    /// Writes a session of Claude Code that edited these files.
    fn claude(&self, cwd: &str, files: &[&str]) {
        let cwd = self.base.join(cwd);
        let line = |kind: &str, content: Value| {
            json!({"type": kind, "cwd": cwd, "sessionId": "c1", "timestamp": "2026-11-01T10:00:00Z",
                "message": {"role": kind, "content": content}})
        };
        let edit = |(at, file): (usize, &&str)| {
            let input = json!({"file_path": cwd.join(file), "content": "x"});
            line(
                "assistant",
                json!([{"type": "tool_use", "id": format!("t{at}"), "name": "Write", "input": input}]),
            )
        };
        let mut lines = vec![line("user", "Write them".into())];
        lines.extend(files.iter().enumerate().map(edit));
        self.write("claude/projects/-w/c1c1c1c1-0000-4000-8000-000000000001.jsonl", &lines);
    }

    fn suggest(&self, old: &str, known: &[&str]) -> Vec<MovedTo> {
        let known: Vec<PathBuf> = known.iter().map(|folder| self.base.join(folder)).collect();
        moved_to(&self.base.join(old), &self.history, &known, &budget())
    }

    fn paths(&self, old: &str, known: &[&str]) -> Vec<PathBuf> {
        let inside = |moved: MovedTo| moved.path.strip_prefix(&self.base).unwrap().to_owned();
        self.suggest(old, known).into_iter().map(inside).collect()
    }
}

fn budget() -> Budget {
    Budget::within(Duration::from_secs(60), &CancellationToken::new())
}

#[test]
fn repository_with_commit_comes_before_clones_of_remote() {
    let stage = Stage::new();
    let commit = stage.repository("work/new");
    let url = "git@github.com:Acme/Shop.git";
    for name in ["other/one", "other/two"] {
        stage.repository(name);
        stage.git(name, &["remote", "add", "origin", "https://github.com/acme/shop"]);
    }
    stage.repository("work/unrelated");
    stage.codex(1, "work/old", json!({"commit_hash": commit, "repository_url": url}));
    assert_eq!(
        stage.suggest("work/old", &["other/one"]),
        [MovedTo { path: stage.base.join("work/new"), evidence: vec![MoveEvidence::Commit(commit)] }],
        "two clones are alike"
    );
    fs::remove_dir_all(stage.base.join("other/two")).unwrap();
    assert_eq!(stage.paths("work/old", &["other/one"]), ["work/new", "other/one"].map(PathBuf::from));
    assert!(stage.paths("work/unrelated", &["other/one"]).is_empty(), "it exists");

    let mut excluded = ExcludedSessions::default();
    excluded.exclude_workspace(stage.base.join("work/new"));
    stage.history.exclude(excluded);
    assert_eq!(stage.paths("work/old", &["other/one"]), ["other/one"].map(PathBuf::from));
}

#[test]
fn folder_below_moved_one_is_found_in_it() {
    let stage = Stage::new();
    let commit = stage.repository("new");
    fs::create_dir_all(stage.base.join("new/web")).unwrap();
    stage.codex(1, "old/web", json!({"commit_hash": commit}));
    assert_eq!(stage.paths("old/web", &[]), ["new/web"].map(PathBuf::from));
}

#[test]
fn same_name_needs_shared_files() {
    let stage = Stage::new();
    stage.claude("a/shop", &["src/a.rs", "src/b.rs", "c.md", "gone.md"]);
    fs::create_dir_all(stage.base.join("b/shop/src")).unwrap();
    for file in ["src/a.rs", "src/b.rs"] {
        fs::write(stage.base.join("b/shop").join(file), "").unwrap();
    }
    assert!(stage.suggest("a/shop", &["b/shop"]).is_empty());
    fs::write(stage.base.join("b/shop/c.md"), "").unwrap();
    assert_eq!(stage.suggest("a/shop", &["b/shop"])[0].evidence, [MoveEvidence::Files(3)]);
}

#[test]
fn removed_worktree_leads_to_its_repository() {
    let stage = Stage::new();
    stage.repository("shop");
    stage.git("shop", &["worktree", "add", "-q", "../shop.worktrees/fix"]);
    stage.git("shop", &["worktree", "remove", "../shop.worktrees/fix"]);
    let found = stage.suggest("shop.worktrees/fix", &["shop"]);
    let expected = MovedTo { path: stage.base.join("shop"), evidence: vec![MoveEvidence::RemovedWorktree] };
    assert_eq!(found, [expected]);
}

#[test]
fn sessions_of_moved_folder_belong_to_new_one() {
    let stage = Stage::new();
    stage.claude("a/shop", &["src/a.rs"]);
    fs::create_dir_all(stage.base.join("b/shop")).unwrap();
    let (old, new) = (stage.base.join("a/shop"), stage.base.join("b/shop"));
    let count = |workspace: &Path| {
        let query = Query { workspace: Some(workspace.to_owned()), ..Query::default() };
        let listed = stage.history.list(&query, &budget()).rows.len();
        let limited = stage.history.of_workspace(workspace).list(&Query::default(), &budget()).rows.len();
        assert_eq!(listed, limited);
        listed
    };
    assert_eq!(count(&new), 0);
    let mut moved = MovedFolders::default();
    moved.set(stage.base.join("a"), Some(stage.base.join("b")));
    stage.history.follow_moved(moved.clone());
    let former =
        stage.history.former_folder("claude-code", "c1c1c1c1-0000-4000-8000-000000000001", &budget());
    assert_eq!((count(&new), former), (1, Some(old.clone())));
    assert_eq!(stage.history.workspaces(0, &budget())[0].path, new);

    // The new folder is excluded, so its sessions from before are too.
    let mut excluded = ExcludedSessions::default();
    excluded.exclude_workspace(new.clone());
    stage.history.exclude(excluded);
    assert!(stage.history.list(&Query::default(), &budget()).rows.is_empty());
    // Moving it again does not bring them back.
    let mut again = MovedFolders::default();
    again.set(stage.base.join("a"), Some(stage.base.join("b")));
    again.set(new.clone(), Some(stage.base.join("c")));
    stage.history.follow_moved(again);
    assert!(stage.history.list(&Query::default(), &budget()).rows.is_empty());
    stage.history.follow_moved(moved);
    stage.history.exclude(ExcludedSessions::default());

    // A folder that is there again has its own sessions.
    fs::create_dir_all(&old).unwrap();
    assert_eq!((count(&new), count(&old)), (0, 1));
}

#[test]
fn repository_of_a_folder_beside_the_moved_one_is_not_suggested() {
    let stage = Stage::new();
    let commit = stage.repository("x/blog");
    stage.codex(1, "gone/blog", json!({"commit_hash": commit}));
    stage.codex(2, "gone/shop", json!({"commit_hash": "0".repeat(40)}));
    assert!(stage.suggest("gone/shop", &["x/blog"]).is_empty());
    assert_eq!(stage.paths("gone/blog", &["x/blog"]), ["x/blog"].map(PathBuf::from));
}
