//! History readers on fixture folders: one file per version and quirk of each agent's logs.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use openagents_core::{CancellationToken, budget::Budget};
use openagents_transcripts::history::{
    CachedTranscripts, EventKind, FileStamp, History, HistoryRoots, Listing, ListingCache,
    MemoryListingCache, Provider, Query, SearchQuery, Span, Transcript,
};
use serde_json::{Value, json};
use std::{
    fs,
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant, UNIX_EPOCH},
};

/// 2026-11-01T00:00:00Z, in seconds.
const BASE: u64 = 1_793_491_200;

struct Folders {
    keep: tempfile::TempDir,
}

impl Folders {
    /// Copies the fixtures; each file is a minute newer than the previous one by name.
    fn fixtures() -> Self {
        let folders = Self { keep: tempfile::tempdir().unwrap() };
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/history");
        for (minute, path) in files(&from).iter().enumerate() {
            let to = folders.path(path.strip_prefix(&from).unwrap());
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::copy(path, &to).unwrap();
            touch(&to, minute as u64);
        }
        folders
    }

    fn empty() -> Self {
        Self { keep: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.keep.path().join(name)
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>, minute: u64) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        touch(&path, minute);
        path
    }

    fn history(&self) -> History {
        self.history_with(Arc::new(MemoryListingCache::default()))
    }

    fn history_with(&self, index: Arc<dyn ListingCache>) -> History {
        let roots = HistoryRoots::default()
            .with(Provider::Codex, self.path("codex"))
            .with(Provider::ClaudeCode, self.path("claude"));
        History::new(roots, index)
    }

    /// Renders rows without values that differ between runs.
    fn rendered(&self, listing: &Listing) -> Value {
        let base = self.keep.path().to_str().unwrap();
        let rows = listing.rows.iter().map(|row| {
            let mut row = serde_json::to_value(row).unwrap();
            row["updated_at"] = json!((row["updated_at"].as_i64().unwrap() - BASE as i64 * 1000) / 60_000);
            let path = row["file_path"].as_str().unwrap().strip_prefix(base).unwrap().to_owned();
            row["file_path"] = json!(path);
            let fields = row.as_object_mut().unwrap();
            fields.retain(|_, value| !value.is_null() && *value != json!(false) && *value != json!(0));
            row
        });
        json!({"rows": rows.collect::<Vec<_>>(), "total": listing.total, "truncated": listing.truncated})
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![];
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}

fn touch(path: &Path, minute: u64) {
    let time = UNIX_EPOCH + Duration::from_secs(BASE + minute * 60);
    fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
}

fn budget() -> Budget {
    Budget::within(Duration::from_secs(60), &CancellationToken::new())
}

fn codex_id(number: u32) -> String {
    format!("0c0de000-0000-7000-8000-{number:012}")
}

fn claude_id(number: u32) -> String {
    format!("c1a0de00-0000-4000-8000-{number:012}")
}

fn all(provider: Provider) -> Query {
    Query { provider: Some(provider), all: true, ..Query::default() }
}

#[test]
fn list_matches_codex() {
    let folders = Folders::fixtures();
    let history = folders.history();
    let listed = history.list(&Query { all: false, ..all(Provider::Codex) }, &budget());
    insta::assert_json_snapshot!("codex_listed", folders.rendered(&listed));
    let everything = history.list(&all(Provider::Codex), &budget());
    insta::assert_json_snapshot!("codex_all", folders.rendered(&everything));
}

#[test]
fn list_matches_claude_code() {
    let folders = Folders::fixtures();
    let history = folders.history();
    let listed = history.list(&Query { all: false, ..all(Provider::ClaudeCode) }, &budget());
    insta::assert_json_snapshot!("claude_listed", folders.rendered(&listed));
    let everything = history.list(&all(Provider::ClaudeCode), &budget());
    insta::assert_json_snapshot!("claude_all", folders.rendered(&everything));
}

#[test]
fn read_reports_each_event_once() {
    let folders = Folders::fixtures();
    let history = folders.history();
    let mut lines = vec![];
    for row in history.list(&Query { all: true, ..Query::default() }, &budget()).rows {
        lines.push(format!("== {} {}", row.provider.as_str(), row.id));
        let end = history.read_transcript(&row, Span::default(), &budget(), &mut |event| {
            let name = match &event.kind {
                EventKind::ToolCall { name } => format!(" {name}"),
                EventKind::Title(rank) => format!(" {rank:?}"),
                _ => String::new(),
            };
            let marks: String =
                [(event.sidechain, " sidechain"), (event.copied, " copied"), (event.undone, " undone")]
                    .iter()
                    .filter(|m| m.0)
                    .map(|m| m.1)
                    .collect();
            let files: Vec<String> = event
                .files
                .iter()
                .map(|f| format!("{}{}", f.path, if f.edited { "*" } else { "" }))
                .collect();
            let text = event.text.replace('\n', "⏎");
            let command = event.action.command.map(|command| format!(" $ {command}")).unwrap_or_default();
            let outcome = event.action.outcome.map(|outcome| format!(" {outcome:?}")).unwrap_or_default();
            let kind = event.kind.as_str();
            lines.push(format!("{} {kind}{name}{marks}: {text} {files:?}{command}{outcome}", event.line));
            ControlFlow::Continue(())
        });
        let end = end.unwrap();
        if end.bad_lines > 0 {
            lines.push(format!("bad lines: {}", end.bad_lines));
        }
    }
    insta::assert_snapshot!("events", lines.join("\n"));
}

#[test]
fn tail_keeps_line_numbers() {
    let folders = Folders::empty();
    let mut log = parent_and_head(10, "First");
    for turn in 0..100 {
        let line = json!({"timestamp": "2026-01-01T00:00:02.000Z", "type": "event_msg", "payload": {
            "type": "agent_message", "message": format!("{turn}")}});
        log.push_str(&format!("{line}\n"));
    }
    folders.write(&format!("codex/sessions/2026/01/01/{}", codex_name(900)), &log, 0);
    let history = folders.history();
    let row = history.find(&codex_id(900), None, &budget()).unwrap();
    let mut read = vec![];
    let span = Span { bytes: 1000, tail_bytes: 1000, ..Span::default() };
    let end = history.read_transcript(&row, span, &budget(), &mut |event| {
        read.push((event.line, event.text));
        ControlFlow::Continue(())
    });
    assert!(end.unwrap().capped);
    assert_eq!(read[0], (3, "First".into()));
    assert_eq!(read.last(), Some(&(103, "99".into())));
    let turns = read[1..].iter().filter(|(line, text)| *line == text.parse::<u64>().unwrap() + 4);
    assert_eq!(turns.count(), read.len() - 1);
    assert!(read.len() < 50, "the middle is left out");
}

fn parent_and_head(large: usize, prompt: &str) -> String {
    let meta = json!({"timestamp": "2026-01-01T00:00:00.000Z", "type": "session_meta", "payload": {
        "id": codex_id(900), "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/w/proj", "source": "cli",
        "base_instructions": {"text": "x".repeat(large)}}});
    let noise = json!({"timestamp": "2026-01-01T00:00:00.000Z", "type": "response_item", "payload": {
        "type": "message", "role": "user", "content": [{"type": "input_text", "text": "y".repeat(large)}]}});
    let user = json!({"timestamp": "2026-01-01T00:00:01.000Z", "type": "event_msg", "payload": {
        "type": "user_message", "message": prompt}});
    format!("{meta}\n{noise}\n{user}\n")
}

fn codex_name(number: u32) -> String {
    format!("rollout-2026-01-01T00-00-00-{}.jsonl", codex_id(number))
}

#[test]
fn summary_reads_large_head_and_tail() {
    let folders = Folders::empty();
    let mut log = parent_and_head(100_000, "Far into the file");
    for turn in 0..2000 {
        let line = json!({"timestamp": "2026-01-01T00:00:02.000Z", "type": "event_msg", "payload": {
            "type": "agent_message", "message": format!("{turn} {}", "z".repeat(200))}});
        log.push_str(&format!("{line}\n"));
    }
    log.push_str(&format!(
        "{}\n",
        json!({"timestamp": "2026-01-01T00:00:03.000Z", "type": "turn_context",
        "payload": {"cwd": "/w/proj/moved", "model": "gpt-tail"}})
    ));
    log.push_str(&format!(
        "{}\n",
        json!({"timestamp": "2026-01-01T00:00:03.000Z", "type": "event_msg", "payload":
        {"type": "token_count", "info": {"total_token_usage": {"total_tokens": 77}}}})
    ));
    folders.write(&format!("codex/sessions/2026/01/01/{}", codex_name(900)), &log, 0);
    let row = folders.history().find(&codex_id(900), None, &budget()).unwrap();
    assert_eq!(row.title.as_deref(), Some("Far into the file"));
    assert_eq!(row.cwd, Some(PathBuf::from("/w/proj/moved")));
    assert_eq!(row.model.as_deref(), Some("gpt-tail"));
    assert_eq!(row.tokens, Some(77));
    assert_eq!((row.user_turns, row.hidden, row.bad_lines), (None, false, 0));
}

#[test]
fn list_prefers_plain_over_compressed_log() {
    let folders = Folders::empty();
    let compress = |text: &str| zstd::encode_all(text.as_bytes(), 3).unwrap();
    let archived = format!("codex/archived_sessions/{}.zst", codex_name(900));
    folders.write(&archived, compress(&parent_and_head(10, "Compressed")), 0);
    let history = folders.history();
    let rows = history.list(&all(Provider::Codex), &budget()).rows;
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0].id.clone(), rows[0].title.as_deref()), (codex_id(900), Some("Compressed")));
    assert!(rows[0].hidden, "archived");
    assert_eq!(rows[0].user_turns, Some(1));

    // Decompressed between listing and reading: the listed name is missing, the other one exists.
    let plain = folders.write(&archived.replace(".zst", ""), parent_and_head(10, "Plain"), 1);
    fs::remove_file(folders.path(&archived)).unwrap();
    let mut texts = vec![];
    let read = history.read_transcript(&rows[0], Span::default(), &budget(), &mut |event| {
        texts.push(event.text);
        ControlFlow::Continue(())
    });
    assert!(read.is_ok());
    assert_eq!(texts, ["Plain"]);

    folders.write(&archived, compress(&parent_and_head(10, "Compressed")), 2);
    let rows = history.list(&all(Provider::Codex), &budget()).rows;
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0].title.as_deref(), &rows[0].file_path), (Some("Plain"), &plain));
}

#[test]
fn unchanged_log_is_not_read_again() {
    let folders = Folders::fixtures();
    let index = Arc::new(Counting::default());
    let history = folders.history_with(index.clone());
    let query = Query { all: true, ..Query::default() };
    let first = history.list(&query, &budget());
    let read = index.parsed();
    assert!(read >= first.rows.len());
    assert_eq!(history.list(&query, &budget()), first);
    assert_eq!(index.parsed(), read, "nothing changed");

    let row = first.rows.iter().find(|row| row.id == claude_id(5)).unwrap();
    let title = format!("{}\n", json!({"type": "custom-title", "customTitle": "Renamed"}));
    let log = fs::read_to_string(&row.file_path).unwrap() + &title;
    fs::write(&row.file_path, log).unwrap();
    touch(&row.file_path, 500);
    let again = history.list(&query, &budget());
    assert_eq!(index.parsed(), read + 1);
    let renamed = again.rows.iter().find(|row| row.id == claude_id(5)).unwrap();
    assert_eq!(renamed.title.as_deref(), Some("Renamed"));

    // Same size, different time.
    touch(&row.file_path, 501);
    history.list(&query, &budget());
    assert_eq!(index.parsed(), read + 2);
}

#[test]
fn name_changes_without_its_log() {
    let folders = Folders::fixtures();
    let history = folders.history();
    let title = |history: &History| history.find(&codex_id(3), None, &budget()).unwrap().title.unwrap();
    assert_eq!(title(&history), "Fix the login redirect");
    let index = format!("{}\n", json!({"id": codex_id(3), "thread_name": "Redirects", "updated_at": "x"}));
    folders.write("codex/session_index.jsonl", index, 0);
    assert_eq!(title(&history), "Redirects");
}

#[test]
fn vanished_log_is_skipped() {
    let folders = Folders::fixtures();
    let history = folders.history();
    let row = history.find(&claude_id(5), None, &budget()).unwrap();
    fs::remove_file(&row.file_path).unwrap();
    assert!(
        history
            .read_transcript(&row, Span::default(), &budget(), &mut |_| ControlFlow::Continue(()))
            .is_err()
    );
    assert!(history.find(&claude_id(5), None, &budget()).is_none());
    fs::remove_dir_all(folders.path("claude")).unwrap();
    assert_eq!(history.list(&all(Provider::ClaudeCode), &budget()).total, 0);
    assert_eq!(History::empty().list(&Query::default(), &budget()), Listing::default());
}

#[test]
fn list_pages_and_filters() {
    let folders = Folders::fixtures();
    let history = folders.history();
    let everything = history.list(&Query::default(), &budget());
    assert!(everything.rows.is_sorted_by(|a, b| a.updated_at >= b.updated_at));
    let page = history.list(&Query { limit: 3, ..Query::default() }, &budget());
    assert_eq!((page.rows.len(), page.total, page.truncated), (3, everything.total, true));
    assert_eq!(page.rows, everything.rows[..3]);
    let since = everything.rows[4].updated_at;
    let recent = history.list(&Query { since: Some(since), ..Query::default() }, &budget());
    assert_eq!(recent.rows, everything.rows[..5]);
    let workspace = Some(PathBuf::from("/w/other"));
    let elsewhere = history.list(&Query { workspace, ..Query::default() }, &budget());
    assert_eq!(elsewhere.rows.iter().map(|row| row.id.clone()).collect::<Vec<_>>(), [claude_id(19)]);
}

/// Creates FIFOs without a writer.
fn fifos(paths: &[PathBuf]) {
    for path in paths {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
    }
}

#[test]
fn list_skips_fifo() {
    let folders = Folders::fixtures();
    let log = folders.path(format!("claude/projects/-w-proj/{}.jsonl", claude_id(5)));
    let history = folders.history();
    let row = history.find(&claude_id(5), None, &budget()).unwrap();
    for path in [&log, &folders.path("codex/session_index.jsonl")] {
        fs::remove_file(path).unwrap();
    }
    let base = folders.path("repo");
    fs::create_dir_all(base.join(".git/worktrees/side")).unwrap();
    fs::write(base.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    fifos(&[
        log,
        folders.path("codex/session_index.jsonl"),
        folders.path("claude/projects/-w-proj/agent-a2b2c2.meta.json"),
        base.join(".git/worktrees/side/gitdir"),
    ]);
    let (done, wait) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let all = history.list(&Query { all: true, ..Query::default() }, &budget());
        let here = history.list(&Query { workspace: Some(base), ..Query::default() }, &budget());
        let read =
            history.read_transcript(&row, Span::default(), &budget(), &mut |_| ControlFlow::Continue(()));
        let _ = done.send((all.total > 10, here.total, read.is_err()));
    });
    assert_eq!(wait.recv_timeout(Duration::from_secs(20)), Ok((true, 0, true)));
}

#[test]
fn unterminated_line_keeps_rest_of_log() {
    let folders = Folders::empty();
    let mut log = b"{\"type\":\"user\",\"message\":{\"content\":\"Hi all\"}}\n\"".to_vec();
    log.resize(20 << 20, b'x');
    log.extend_from_slice(b"\"\n{\"type\":\"custom-title\",\"customTitle\":\"Named\"}\n");
    folders.write(&format!("claude/projects/-w/{}.jsonl", claude_id(1)), &log, 0);
    let row = folders.history().find(&claude_id(1), None, &budget()).unwrap();
    assert_eq!((row.title.as_deref(), row.user_turns, row.bad_lines), (Some("Named"), None, 0));
}

#[test]
fn late_rows_have_no_titles() {
    let folders = Folders::fixtures();
    let spent = Budget::new(Instant::now(), CancellationToken::new());
    let index = Arc::new(Counting::default());
    let history = folders.history_with(index.clone());
    let listing = history.list(&all(Provider::ClaudeCode), &spent);
    assert!(listing.timed_out);
    assert!(listing.rows.iter().all(|row| row.title.is_none()));
    assert_eq!(index.parsed(), 0);
    // Cached rows have their titles.
    history.list(&all(Provider::Codex), &budget());
    let again = history.list(&all(Provider::Codex), &Budget::new(Instant::now(), CancellationToken::new()));
    assert!(again.rows.iter().any(|row| row.title.is_some()));
}

/// A log of the oldest kind of sub-agent, recognisable only by its first line.
fn sidechain(id: &str) -> String {
    format!(
        "{}\n",
        json!({"type": "user", "sessionId": id, "isSidechain": true, "message": {"content": "Hi"}})
    )
}

#[test]
fn late_list_shows_nothing_hidden() {
    let folders = Folders::empty();
    folders.write(&format!("claude/projects/-w/{}.jsonl", claude_id(1)), sidechain(&claude_id(1)), 0);
    let exec = json!({"timestamp": "2026-01-01T00:00:00.000Z", "type": "session_meta", "payload": {
        "id": codex_id(900), "cwd": "/w", "source": "exec"}});
    folders.write(&format!("codex/sessions/{}", codex_name(900)), format!("{exec}\n"), 0);
    let history = folders.history();
    let spent = || Budget::new(Instant::now(), CancellationToken::new());
    let cut = history.list(&Query { provider: Some(Provider::Codex), ..Query::default() }, &spent());
    assert_eq!((cut.rows.len(), cut.total, cut.unread, cut.timed_out), (0, 0, 1, true));
    let all = history.list(&all(Provider::Codex), &spent());
    assert_eq!((all.rows.len(), all.total, all.unread, all.timed_out), (1, 1, 1, true));
    let whole = history.list(&Query::default(), &budget());
    assert_eq!((whole.rows.len(), whole.unread, whole.timed_out), (0, 0, false));
}

#[test]
fn deadline_holds_within_folder() {
    let folders = Folders::empty();
    for number in 0..2000 {
        let name = format!("claude/projects/-w/{}.jsonl", claude_id(number));
        folders.write(&name, sidechain(&claude_id(number)), 0);
        folders.write(&format!("codex/archived_sessions/{}", codex_name(number)), "{}\n", 0);
    }
    let cancel = CancellationToken::new();
    cancel.cancel();
    let spent = Budget::within(Duration::from_secs(60), &cancel);
    for provider in [Provider::Codex, Provider::ClaudeCode] {
        let found = folders.history().list(&all(provider), &spent).total;
        assert!(found < 256, "{found} of {}", provider.as_str());
        assert_eq!(folders.history().list(&all(provider), &budget()).total, 2000);
    }
}

#[test]
fn fork_has_same_summary_from_every_query() {
    let folders = Folders::empty();
    let line = |kind: &str, payload: Value| json!({"timestamp": "2026-01-01T00:00:00.000Z", "type": kind, "payload": payload});
    let turn = |id: &str, text: &str| {
        let lines = [
            line("event_msg", json!({"type": "task_started", "turn_id": id})),
            line("event_msg", json!({"type": "user_message", "message": text})),
        ];
        lines.map(|line| format!("{line}\n")).concat()
    };
    let meta = |id: u32, from: Option<u32>| {
        let payload =
            json!({"id": codex_id(id), "cwd": "/w", "source": "cli", "forked_from_id": from.map(codex_id)});
        format!("{}\n", line("session_meta", payload))
    };
    folders.write(&format!("codex/sessions/{}", codex_name(1)), meta(1, None) + &turn("a", "One"), 0);
    let fork = meta(2, Some(1)) + &turn("a", "One") + &turn("b", "Two");
    folders.write(&format!("codex/sessions/{}", codex_name(2)), fork, 1);
    let by_id = folders.history().find(&codex_id(2), None, &budget()).unwrap();
    let mut listed = folders.history().list(&all(Provider::Codex), &budget()).rows;
    listed.retain(|row| row.id == by_id.id);
    assert_eq!((by_id.user_turns, listed), (Some(1), vec![by_id]));
}

#[test]
fn list_survives_non_utf8_folder() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
    let folders = Folders::fixtures();
    let project = folders.path("claude/projects").join(OsStr::from_bytes(b"-bad\xff"));
    fs::create_dir_all(&project).unwrap();
    let line = json!({"type": "user", "cwd": "/w/bad", "message": {"content": "Hi all"}});
    fs::write(project.join(format!("{}.jsonl", claude_id(999))), format!("{line}\n")).unwrap();
    let history = folders.history();
    let rows = history.list(&Query::default(), &budget()).rows;
    let row = rows.iter().find(|row| row.id == claude_id(999)).unwrap();
    assert_eq!((row.title.as_deref(), row.cwd.as_deref()), (Some("Hi all"), Some(Path::new("/w/bad"))));
    let mut bad = row.clone();
    bad.cwd = Some(project);
    for row in rows.iter().chain([&bad]) {
        let text = serde_json::to_string(row).unwrap();
        assert_eq!(serde_json::from_str::<Transcript>(&text).unwrap().id, row.id);
    }
    let found = history.find(&claude_id(999), None, &budget()).unwrap();
    let read =
        history.read_transcript(&found, Span::default(), &budget(), &mut |_| ControlFlow::Continue(()));
    assert!(read.is_ok());
}

#[test]
fn summary_of_other_session_is_not_title() {
    let folders = Folders::empty();
    let summary = |leaf: &str| json!({"type": "summary", "summary": format!("Of {leaf}"), "leafUuid": leaf});
    let prompt = json!({"type": "user", "uuid": "here", "message": {"content": "Fix the login"}});
    let logs = [
        (1, vec![summary("elsewhere"), prompt.clone()], "Fix the login"),
        (2, vec![summary("here"), summary("elsewhere"), prompt.clone()], "Of here"),
        (3, vec![prompt, summary("here"), summary("elsewhere")], "Of here"),
    ];
    let history = folders.history();
    for (number, lines, title) in logs {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        folders.write(&format!("claude/projects/-w/{}.jsonl", claude_id(number)), text, 0);
        assert_eq!(
            history.find(&claude_id(number), None, &budget()).unwrap().title.as_deref(),
            Some(title),
            "{number}"
        );
    }
}

#[test]
fn find_accepts_unique_id_prefix() {
    let folders = Folders::empty();
    let line = |id: &str| {
        format!("{}\n", json!({"type": "user", "sessionId": id, "message": {"content": "Hi all"}}))
    };
    for id in ["aaaaaaaa-0000-4000-8000-000000000001", "aaaaaaaa-1000-4000-8000-000000000001"] {
        folders.write(&format!("claude/projects/-w/{id}.jsonl"), line(id), 0);
    }
    let history = folders.history();
    let found = |id: &str| history.find(id, None, &budget()).map(|row| row.id);
    assert_eq!(found("aaaaaaaa-1"), Some("aaaaaaaa-1000-4000-8000-000000000001".into()));
    assert_eq!(found("aaaaaaaa"), None, "two fit");
    assert_eq!(found("aaaa"), None, "too short");
    assert_eq!(history.find("aaaaaaaa-1", Some(Provider::Codex), &budget()), None);
}

#[test]
fn workspaces_lists_existing_repositories() {
    let folders = Folders::empty();
    folders.write("repo/.git/HEAD", "ref: refs/heads/main\n", 0);
    // Left behind by a sandbox; not a repository.
    fs::create_dir_all(folders.path("plain/.git")).unwrap();
    fs::create_dir_all(folders.path("repo/src")).unwrap();
    fs::create_dir_all(folders.path("plain/deep")).unwrap();
    let cwds = ["repo", "repo/src", "plain/deep", "gone"];
    for (number, cwd) in cwds.iter().enumerate() {
        let line = json!({"type": "user", "cwd": folders.path(cwd), "message": {"content": "Work"}});
        let name = format!("claude/projects/-w/{}.jsonl", claude_id(number as u32));
        folders.write(&name, format!("{line}\n"), number as u64);
    }
    let found = folders.history().workspaces(0, &budget());
    let found: Vec<_> = found.iter().map(|w| (w.name.as_str(), w.sessions, w.last_active_ms)).collect();
    let at = |minute: i64| (BASE as i64 + minute * 60) * 1000;
    assert_eq!(found, [("deep", 1, at(2)), ("repo", 2, at(1))]);
    assert_eq!(folders.history().workspaces(1, &budget()).len(), 1);
}

/// Counts the logs that were parsed because they were not cached.
#[derive(Debug, Default)]
struct Counting {
    cache: MemoryListingCache,
    parsed: AtomicUsize,
}

impl Counting {
    fn parsed(&self) -> usize {
        self.parsed.load(Ordering::Relaxed)
    }
}

impl ListingCache for Counting {
    fn load(&self, root: &Path) -> Arc<CachedTranscripts> {
        self.cache.load(root)
    }

    fn save(&self, rows: Vec<(FileStamp, Transcript)>) {
        self.parsed.fetch_add(rows.len(), Ordering::Relaxed);
        self.cache.save(rows);
    }
}

/// An index that caches nothing.
#[derive(Debug)]
struct Forgetful;

impl ListingCache for Forgetful {
    fn load(&self, _root: &Path) -> Arc<CachedTranscripts> {
        Arc::default()
    }

    fn save(&self, _rows: Vec<(FileStamp, Transcript)>) {}
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]

    #[test]
    fn readers_accept_any_bytes(lines in proptest::collection::vec(line(), 0..12), torn in proptest::bool::ANY) {
        let folders = Folders::empty();
        let mut bytes = lines.join(&b'\n');
        if !torn {
            bytes.push(b'\n');
        }
        folders.write(&format!("codex/sessions/2026/01/01/{}", codex_name(1)), &bytes, 0);
        folders.write(&format!("codex/archived_sessions/{}.zst", codex_name(2)), &bytes, 0);
        folders.write(&format!("codex/archived_sessions/{}.zst", codex_name(3)), zstd::encode_all(&bytes[..], 1).unwrap(), 0);
        folders.write(&format!("claude/projects/-w/{}.jsonl", claude_id(1)), &bytes, 0);
        folders.write("codex/session_index.jsonl", &bytes, 0);
        let history = folders.history_with(Arc::new(Forgetful));
        let listing = history.list(&Query { all: true, ..Query::default() }, &budget());
        assert_eq!(listing.total, 4);
        for row in &listing.rows {
            let _ = history.read_transcript(row, Span::default(), &budget(), &mut |_| ControlFlow::Continue(()));
        }
        let query = SearchQuery {
            pattern: "a|e".into(), all: true, max_matches: 3, context: 2, line_chars: 5, file_bytes: 1 << 20,
            total_bytes: 1 << 20, ..SearchQuery::default()
        };
        history.search(&query, &budget(), &budget(), &()).unwrap();
    }
}

/// Bytes, or something close to a line of a log.
fn line() -> impl proptest::strategy::Strategy<Value = Vec<u8>> {
    use proptest::prelude::*;
    let fixtures: Vec<Vec<u8>> = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/history"))
        .iter()
        .flat_map(|path| {
            fs::read(path).unwrap().split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>()
        })
        .filter(|line| !line.is_empty())
        .collect();
    let fixture = prop::sample::select(fixtures);
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..200),
        fixture.clone(),
        (fixture.clone(), any::<prop::sample::Index>(), any::<u8>()).prop_map(|(mut line, at, byte)| {
            let at = at.index(line.len());
            line[at] = byte;
            line
        }),
        (fixture, any::<prop::sample::Index>()).prop_map(|(mut line, at)| {
            let at = at.index(line.len());
            line.truncate(at);
            line
        }),
    ]
}
