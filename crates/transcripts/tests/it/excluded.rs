//! Sessions that the user has excluded are not listed, found, searched or read, and nothing of them is cached.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on may panic")]
use openagents_core::{CancellationToken, budget::Budget};
use openagents_transcripts::history::{
    ExcludedSessions, History, HistoryRoots, ListingCache, MemoryListingCache, Part, Provider, Query,
    SearchQuery, Transcript,
};
use serde_json::json;
use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

fn budget() -> Budget {
    Budget::within(Duration::from_secs(60), &CancellationToken::new())
}

fn spent() -> Budget {
    let cancel = CancellationToken::new();
    cancel.cancel();
    Budget::within(Duration::from_secs(60), &cancel)
}

fn id(number: u32) -> String {
    format!("c1a0de00-0000-4000-8000-{number:012}")
}

struct Stage {
    folder: tempfile::TempDir,
    index: Arc<MemoryListingCache>,
    history: History,
}

impl Stage {
    /// One session in `secret`, one in `open`, and one of Cursor in each, whose directory is only in its path.
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let roots = HistoryRoots::default()
            .with(Provider::ClaudeCode, base.join("claude"))
            .with(Provider::Cursor, base.join("cursor"));
        let index = Arc::new(MemoryListingCache::default());
        let stage = Self { history: History::new(roots, index.clone()), index, folder };
        for (number, name) in [(1, "secret"), (2, "open")] {
            fs::create_dir_all(base.join(name)).unwrap();
            let cwd = base.join(name);
            let line = json!({"type": "user", "cwd": cwd, "message": {"content": format!("Needle {name}")}});
            let slug = cwd.to_str().unwrap().replace(|c: char| !c.is_alphanumeric(), "-");
            stage.write(&format!("claude/projects/{slug}/{}.jsonl", id(number)), &format!("{line}\n"));
            let slug = slug.trim_start_matches('-');
            let transcript = format!("cursor/projects/{slug}/agent-transcripts/{}.txt", id(number + 10));
            stage.write(&transcript, &format!("user:\n<user_query>\nNeedle {name}\n</user_query>\n"));
        }
        stage
    }

    fn base(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.base().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn exclude(&self, folder: &Path) {
        let mut excluded = ExcludedSessions::default();
        excluded.exclude_workspace(folder.to_owned());
        self.history.exclude(excluded);
    }

    fn cached(&self) -> Vec<String> {
        let load = |root| self.index.load(&self.base().join(root));
        let rows = ["claude", "cursor"].map(load);
        rows.iter().flat_map(|rows| rows.values().map(|(_, row)| row.id.clone())).collect()
    }
}

fn search(history: &History, budget: &Budget) -> usize {
    let query = SearchQuery {
        pattern: "Needle secret".to_owned(),
        all: true,
        max_matches: 100,
        line_chars: 1_000,
        file_bytes: 1 << 20,
        total_bytes: 1 << 20,
        ..SearchQuery::default()
    };
    history.search(&query, budget, &self::budget(), &()).unwrap().matches.len()
}

fn ids(history: &History, budget: &Budget) -> Vec<String> {
    let listing = history.list(&Query { all: true, ..Query::default() }, budget);
    let mut ids: Vec<String> = listing.rows.into_iter().map(|row| row.id).collect();
    ids.sort();
    ids
}

#[test]
fn excluded_sessions_are_invisible() {
    for folder in ["secret", "link", "secret/"] {
        let stage = Stage::new();
        std::os::unix::fs::symlink(stage.base().join("secret"), stage.base().join("link")).unwrap();
        let all = stage.history.list(&Query { all: true, ..Query::default() }, &budget()).rows;
        assert_eq!((all.len(), search(&stage.history, &budget())), (4, 2));
        let secret: Vec<Transcript> =
            all.into_iter().filter(|row| row.title.as_deref() == Some("Needle secret")).collect();
        assert_eq!(secret.len(), 2);
        stage.exclude(&stage.base().join(folder));
        for history in [stage.history.clone(), stage.history.snapshot()] {
            assert_eq!(ids(&history, &budget()), [id(2), id(12)], "{folder}");
            assert_eq!(search(&history, &budget()), 0, "{folder}");
            for row in &secret {
                assert!(history.find(&row.id, Some(row.provider), &budget()).is_none(), "{folder}");
                assert!(!history.holds(row) && history.part(row, Part::End, 1 << 20, &budget()).is_err());
            }
        }
    }
}

/// Regression: a run took its list once, and continued with sessions that were excluded in the meantime.
#[test]
fn exclusion_applies_to_snapshot() {
    let stage = Stage::new();
    let run = stage.history.snapshot();
    assert_eq!(ids(&run, &budget()).len(), 4);
    stage.exclude(&stage.base().join("secret"));
    assert_eq!((ids(&run, &budget()).len(), search(&run, &budget())), (2, 0));
}

/// Regression: a log that was not read in time had no directory yet, and was listed and searched.
#[test]
fn unread_logs_are_skipped_if_maybe_excluded() {
    let stage = Stage::new();
    let unread = || {
        let query = Query { all: true, read_time: Some(Duration::ZERO), ..Query::default() };
        let mut rows = stage.history.list(&query, &budget()).rows;
        rows.sort_by(|a, b| a.id.cmp(&b.id));
        rows.into_iter().map(|row| row.id).collect::<Vec<_>>()
    };
    assert_eq!(unread().len(), 4);
    stage.exclude(&stage.base().join("secret"));
    assert_eq!(unread(), [id(2), id(12)]);
}

#[test]
fn excluded_session_is_not_cached() {
    let stage = Stage::new();
    ids(&stage.history, &budget());
    assert_eq!(stage.cached().len(), 4);
    stage.exclude(&stage.base().join("secret"));
    stage.history.forget_excluded();
    let open = |stage: &Stage| {
        let mut cached = stage.cached();
        cached.sort();
        cached
    };
    assert_eq!(open(&stage), [id(2), id(12)]);
    for _ in 0..2 {
        assert_eq!(ids(&stage.history, &budget()), [id(2), id(12)]);
        assert_eq!(open(&stage), [id(2), id(12)]);
    }
    assert_eq!(stage.index.marks().len(), 2, "the logs are not read again");
    stage.history.exclude(ExcludedSessions::default());
    assert_eq!(ids(&stage.history, &budget()).len(), 4);
}

#[test]
fn cache_drops_sessions_without_logs() {
    let stage = Stage::new();
    ids(&stage.history, &budget());
    fs::remove_dir_all(stage.base().join("cursor/projects")).unwrap();
    // A part of the list says nothing about the others.
    stage.history.list(&Query { provider: Some(Provider::ClaudeCode), ..Query::default() }, &budget());
    assert_eq!(stage.cached().len(), 4);
    ids(&stage.history, &budget());
    assert_eq!(stage.cached().len(), 2);
}

#[test]
fn gone_ignores_unmounted_disk() {
    let stage = Stage::new();
    let (claude, cursor) =
        (|number| (Provider::ClaudeCode, id(number)), |number| (Provider::Cursor, id(number)));
    let all = [claude(1), claude(2), claude(3), cursor(11), cursor(12)];
    let gone = || stage.history.gone(&all, &budget());
    assert_eq!(gone(), [claude(3)]);
    stage.exclude(&stage.base().join("secret"));
    assert_eq!(gone(), [claude(1), claude(3), cursor(11)]);
    stage.history.exclude(ExcludedSessions { agents: vec![Provider::Cursor], ..ExcludedSessions::default() });
    assert_eq!(gone(), [claude(3), cursor(11), cursor(12)]);
    assert_eq!(stage.history.gone(&all, &spent()), []);
    stage.history.exclude(ExcludedSessions::default());
    fs::remove_dir_all(stage.base().join("cursor")).unwrap();
    assert_eq!(gone(), [claude(3), cursor(11), cursor(12)], "the agent was removed");
    let away = HistoryRoots::default().with(Provider::ClaudeCode, stage.base().join("disk/claude"));
    assert_eq!(History::new(away, Arc::new(MemoryListingCache::default())).gone(&all[..3], &budget()), []);
}
