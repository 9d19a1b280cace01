//! Each agent's format on fixtures in the versions that its module names: the list, the events of each session, and
//! that nothing is written into the agent's folder. Fixtures that end in `.sql` become a database.
//!
//! Formats drift: each reader also gets the files of all other agents and damaged ones, under the names of its own
//! files.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use openagents_core::{CancellationToken, budget::Budget};
use openagents_transcripts::{
    history::{
        Event, EventKind, GoneReason, History, HistoryRoots, MemoryListingCache, Part, Provider, Query,
        ReadEnd, SearchQuery, Span, Transcript, Unknown,
    },
    keep::{KeepSettings, Keeper, KeptCopies},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
    io::Write as _,
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// 2026-11-01T00:00:00Z, the time of every file.
const FILE_TIME: Duration = Duration::from_secs(1_793_491_200);
/// Bytes of the longest line.
const LONG: u64 = 100 << 20;

struct Agent {
    folder: PathBuf,
    provider: Provider,
    /// Removes the folder.
    _kept: Option<tempfile::TempDir>,
}

impl Agent {
    fn new(provider: Provider) -> Self {
        Self::with(provider, &[""])
    }

    /// Sets up an agent whose databases have the files with these suffixes. With a log, they are those of an agent that
    /// crashed.
    fn with(provider: Provider, suffixes: &[&str]) -> Self {
        let kept = tempfile::tempdir().unwrap();
        let agent = Self { folder: kept.path().to_owned(), provider, _kept: Some(kept) };
        let from =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/agents").join(provider.as_str());
        for path in files(&from) {
            let to = agent.folder.join(path.strip_prefix(&from).unwrap());
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            if to.extension().is_some_and(|extension| extension == "sql") {
                database(&fs::read_to_string(&path).unwrap(), &to.with_extension(""), suffixes);
            } else {
                fs::copy(&path, &to).unwrap();
            }
        }
        for path in files(&agent.folder) {
            let file = fs::File::options().write(true).open(path).unwrap();
            file.set_modified(UNIX_EPOCH + FILE_TIME).unwrap();
        }
        agent
    }

    fn history(&self) -> History {
        let roots = HistoryRoots::default().with(self.provider, self.folder.as_path());
        History::new(roots, Arc::new(MemoryListingCache::default()))
    }

    /// Renders the list, with hidden sessions marked, and the events of each session.
    fn rendered(&self) -> String {
        let history = self.history();
        let listed = history.list(&Query::default(), &budget()).rows;
        let mut text = String::new();
        for row in history.list(&Query { all: true, ..Query::default() }, &budget()).rows {
            let hidden = if listed.contains(&row) { "" } else { " (hidden)" };
            writeln!(text, "== {}{hidden}", row.id).unwrap();
            self.head(&row, &mut text);
            let end = history.read_transcript(&row, Span::default(), &budget(), &mut |event| {
                writeln!(text, "{}", rendered(&event)).unwrap();
                ControlFlow::Continue(())
            });
            writeln!(text, "bad lines: {}", end.unwrap().bad_lines).unwrap();
        }
        text
    }

    /// Lists, reads and searches all sessions. Returns them with how reading ended, if they could be opened.
    fn used(&self) -> Vec<(Transcript, Option<ReadEnd>)> {
        let (history, before) = (self.history(), stamps(&self.folder));
        let listing = history.list(&Query { all: true, ..Query::default() }, &budget());
        assert!(!listing.timed_out && listing.unread == 0);
        let read = |row| {
            let mut visit = |_| ControlFlow::Continue(());
            let end = history.read_transcript(&row, Span::default(), &budget(), &mut visit).ok();
            (row, end)
        };
        let used = listing.rows.into_iter().map(read).collect();
        let query = SearchQuery {
            pattern: "a|e".into(),
            all: true,
            max_matches: 3,
            context: 2,
            line_chars: 50,
            file_bytes: 2 * LONG,
            total_bytes: 4 * LONG,
            ..SearchQuery::default()
        };
        history.search(&query, &budget(), &budget(), &()).unwrap();
        assert_eq!(stamps(&self.folder), before, "a reader wrote into the folder");
        used
    }

    fn head(&self, row: &Transcript, text: &mut String) {
        let path = row.file_path.strip_prefix(&self.folder).unwrap();
        writeln!(text, "{} in {:?} on {:?}", path.display(), row.cwd, row.branch).unwrap();
        let (title, model) = (&row.title, &row.model);
        writeln!(text, "{title:?} by {model:?}, {:?} prompts, {:?} tokens", row.user_turns, row.tokens)
            .unwrap();
        let time = |at: Option<i64>| at.map(|at| jiff::Timestamp::from_millisecond(at).unwrap().to_string());
        let (created, updated) = (time(row.created_at), time(Some(row.updated_at)));
        writeln!(text, "from {} to {}", created.unwrap_or_default(), updated.unwrap_or_default()).unwrap();
    }
}

/// Creates a database at `to` with the files that have these suffixes. With a log, they are those of a running agent.
fn database(sql: &str, to: &Path, suffixes: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let name = |at: &Path, suffix: &str| PathBuf::from(format!("{}{suffix}", at.display()));
    let from = folder.path().join("a.db");
    let agent = rusqlite::Connection::open(&from).unwrap();
    agent.execute_batch("PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0;").unwrap();
    agent.execute_batch(&format!("BEGIN; {sql} COMMIT;")).unwrap();
    let mut running = Some(agent).filter(|_| suffixes.contains(&"-wal"));
    for suffix in suffixes {
        fs::copy(name(&from, suffix), name(to, suffix)).unwrap();
    }
    running.take();
}

fn rendered(event: &Event) -> String {
    let name = match &event.kind {
        EventKind::ToolCall { name } => format!(" {name}"),
        EventKind::Title(rank) => format!(" {rank:?}"),
        _ => String::new(),
    };
    let at = event.timestamp.map_or_else(String::new, |at| {
        jiff::Timestamp::from_millisecond(at).unwrap().strftime(" %T").to_string()
    });
    let sidechain = if event.sidechain { " sidechain" } else { "" };
    let copied = if event.copied { " copied" } else { "" };
    let copied = if event.undone { " undone" } else { copied };
    let files: Vec<String> = event
        .files
        .iter()
        .map(|file| format!(" {}{}", file.path, if file.edited { "*" } else { "" }))
        .collect();
    let action = &event.action;
    let command = action.command.as_ref().map(|command| format!(" $ {command}")).unwrap_or_default();
    let outcome = action.outcome.map(|outcome| format!(" {outcome:?}")).unwrap_or_default();
    let text = event.text.replace('\n', "⏎");
    let kind = event.kind.as_str();
    format!("{}{at} {kind}{name}{sidechain}{copied}: {text}{}{command}{outcome}", event.line, files.concat())
}

fn budget() -> Budget {
    Budget::within(Duration::from_secs(60), &CancellationToken::new())
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![];
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

/// Returns every file of a folder with its bytes and its time.
fn state(folder: &Path) -> BTreeMap<PathBuf, (Vec<u8>, SystemTime)> {
    let read = |path: PathBuf| {
        let state = (fs::read(&path).unwrap(), path.metadata().unwrap().modified().unwrap());
        (path, state)
    };
    files(folder).into_iter().map(read).collect()
}

/// Returns every file of a folder with its length and its time.
fn stamps(folder: &Path) -> BTreeMap<PathBuf, (u64, SystemTime)> {
    let stamp = |path: PathBuf| {
        let metadata = path.metadata().unwrap();
        (path, (metadata.len(), metadata.modified().unwrap()))
    };
    files(folder).into_iter().map(stamp).collect()
}

fn check(provider: Provider) {
    let agent = Agent::new(provider);
    let before = state(&agent.folder);
    insta::assert_snapshot!(provider.as_str(), agent.rendered());
    assert_eq!(state(&agent.folder), before, "a reader wrote into the folder");
}

/// Checks that a log next to a database is read, and that nothing is written next to it either.
fn check_databases(provider: Provider) {
    check(provider);
    let expected = Agent::new(provider).rendered();
    for suffixes in [&["", "-wal", "-shm"][..], &["", "-wal"]] {
        let agent = Agent::with(provider, suffixes);
        let before = state(&agent.folder);
        assert_eq!(agent.rendered(), expected, "with {suffixes:?}");
        assert_eq!(state(&agent.folder), before, "a reader wrote into the folder");
    }
}

#[test]
fn fixtures_have_no_unknown_data() {
    for provider in Provider::ALL {
        let agent = Agent::new(provider);
        let history = agent.history();
        let mut unknown = Unknown::default();
        for row in history.list(&Query { all: true, ..Query::default() }, &budget()).rows {
            unknown.add(&row.unknown);
        }
        let files = history.unknown_files(provider, &budget());
        assert_eq!((unknown, files), Default::default(), "{provider:?}");
    }
}

#[test]
fn codex_from_0_150() {
    check(Provider::Codex);
}

#[test]
fn claude_code_from_2_1_200() {
    check(Provider::ClaudeCode);
}

#[test]
fn gemini() {
    check(Provider::Gemini);
}

#[test]
fn qwen() {
    check(Provider::Qwen);
}

#[test]
fn copilot() {
    check(Provider::Copilot);
}

#[test]
fn copilot_title_changes_without_events() {
    let agent = Agent::new(Provider::Copilot);
    let history = agent.history();
    let id = "b1000000-0000-4000-8000-000000000002";
    let title = || history.find(id, None, &budget()).unwrap().title;
    assert_eq!(title().as_deref(), Some("List services that are stopped"));
    let described = agent.folder.join("session-state").join(id).join("workspace.yaml");
    fs::write(described, "name: Stopped services\nuser_named: true\n").unwrap();
    assert_eq!(title().as_deref(), Some("Stopped services"));
}

/// Returns the contents of every file of the other agents.
fn foreign(provider: Provider) -> BTreeSet<Vec<u8>> {
    let mut contents = BTreeSet::new();
    for other in Provider::ALL.into_iter().filter(|other| *other != provider).map(Agent::new) {
        contents.extend(files(&other.folder).iter().map(|path| fs::read(path).unwrap()));
    }
    contents
}

/// Returns contents that no agent writes.
fn damaged() -> Vec<Vec<u8>> {
    let nested = "[".repeat(5000) + "\n";
    let odd = r#"{"type":7,"message":[],"timestamp":{},"id":[1],"payload":"x","data":null,"messages":{}}"#;
    let mut contents = vec![vec![], b"\n\n".to_vec(), binary(), nested.into_bytes(), odd.into()];
    contents.extend(["{}\n", "[]", "null\n{\n", "\u{feff}{}"].map(|text| text.into()));
    // Each version of the file format: with a rollback journal, and with a write-ahead log.
    contents.extend([1, 2].map(empty_database));
    contents.push(empty_database(1)[..50].to_vec());
    contents
}

fn binary() -> Vec<u8> {
    (0..=255).cycle().take(5000).chain(*b"\n").collect()
}

/// Returns an SQLite file without tables.
fn empty_database(version: u8) -> Vec<u8> {
    let mut page = vec![0; 4096];
    page[..16].copy_from_slice(b"SQLite format 3\0");
    let set = [(16, 16), (18, version), (19, version), (21, 64), (22, 32), (23, 32), (27, 4), (31, 1)];
    for (at, byte) in set.into_iter().chain([(43, 3), (59, 1), (95, 4), (100, 13), (105, 16)]) {
        page[at] = byte;
    }
    page
}

fn is_json(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "json" || extension == "jsonl")
}

type Used = [(Transcript, Option<ReadEnd>)];

/// Asserts that each session of `before` outside the file `changed` is still listed.
fn assert_others_are_listed(before: &Used, after: &Used, changed: &Path) {
    let after: BTreeSet<&Path> = after.iter().map(|(row, _)| row.file_path.as_path()).collect();
    let others = before.iter().map(|(row, _)| row.file_path.as_path());
    let lost: Vec<_> = others.filter(|path| !path.starts_with(changed) && !after.contains(path)).collect();
    assert!(lost.is_empty(), "{} cost {lost:?}", changed.display());
}

#[test]
fn readers_survive_files_of_other_agents() {
    for provider in Provider::ALL {
        let agent = Agent::new(provider);
        let own = files(&agent.folder);
        for contents in foreign(provider).into_iter().chain(damaged()) {
            own.iter().for_each(|path| fs::write(path, &contents).unwrap());
            agent.used();
        }
    }
}

#[test]
fn damaged_file_loses_only_its_sessions() {
    for provider in Provider::ALL {
        let agent = Agent::new(provider);
        let before = agent.used();
        assert!(before.len() > 1, "fixtures of {}", provider.as_str());
        for path in files(&agent.folder) {
            let own = fs::read(&path).unwrap();
            for contents in [&own[..own.len() / 2], &own[..own.len().saturating_sub(1)], &[], &binary()] {
                fs::write(&path, contents).unwrap();
                assert_others_are_listed(&before, &agent.used(), &path);
            }
            fs::remove_file(&path).unwrap();
            assert_others_are_listed(&before, &agent.used(), &path);
            fs::write(&path, own).unwrap();
        }
    }
}

#[test]
fn bad_lines_are_counted() {
    for provider in Provider::ALL {
        let agent = Agent::new(provider);
        let bad_lines = |path: &Path| {
            let used = agent.used().into_iter().find(|(row, _)| row.file_path == path);
            used.and_then(|(row, end)| Some((row.bad_lines, end?.bad_lines)))
        };
        for (row, _) in agent.used().into_iter().filter(|(row, _)| is_json(&row.file_path)) {
            let path = &row.file_path;
            let (own, before) = (fs::read(path).unwrap(), bad_lines(path).unwrap());
            let after = |contents: &[u8]| {
                fs::write(path, contents).unwrap();
                bad_lines(path)
            };
            // A session that cannot be opened has no counts.
            let one_more = after(&[&own[..], b"\n{broken\n"].concat());
            // A document is bad as a whole.
            let least = if path.extension().is_some_and(|it| it == "json") { (0, 0) } else { before };
            let counted = one_more.is_none_or(|(listed, read)| listed > least.0 && read > least.1);
            assert!(counted, "{}: {one_more:?} after {before:?}", path.display());
            let all = after(&binary());
            assert!(all.is_none_or(|(listed, read)| listed > 0 && read > 0), "{}: {all:?}", path.display());
            fs::write(path, own).unwrap();
        }
    }
}

#[test]
fn line_of_100_mb_is_skipped() {
    for provider in Provider::ALL {
        let agent = Agent::new(provider);
        let before = agent.used();
        let row = before.iter().find(|(row, _)| !row.hidden).unwrap().0.clone();
        let path = row.file_path.ancestors().find(|path| path.is_file()).unwrap();
        let (own, mut file) = (fs::read(path).unwrap(), fs::File::options().append(true).open(path).unwrap());
        // Zeros take no space on the disk.
        file.set_len(own.len() as u64 + LONG).unwrap();
        file.write_all(&[b"\n", &own[..]].concat()).unwrap();
        let after = agent.used();
        assert_others_are_listed(&before, &after, path);
        let end = after.into_iter().find(|(again, _)| again.file_path == row.file_path);
        if let Some((_, Some(end))) = end
            && is_json(path)
        {
            assert!(end.long_lines + end.bad_lines > 0, "{}", path.display());
        }
    }
}

#[test]
fn pi() {
    check(Provider::Pi);
}

#[test]
fn openclaw() {
    check(Provider::OpenClaw);
}

#[test]
fn cursor() {
    check(Provider::Cursor);
}

#[test]
fn cursor_sessions_are_found_by_workspace_name() {
    let agent = Agent::new(Provider::Cursor);
    let workspace = Path::new("/home/a/my.site").to_owned();
    let history = agent.history();
    let listed =
        history.list(&Query { workspace: Some(workspace.clone()), ..Query::default() }, &budget()).rows;
    assert_eq!(listed.iter().map(|row| row.cwd.clone()).collect::<Vec<_>>(), [None]);
    // A name that several folders share is not enough for a boundary.
    assert_eq!(history.of_workspace(&workspace).list(&Query::default(), &budget()).rows, []);
}

#[test]
fn amp() {
    check(Provider::Amp);
}

#[test]
fn cline() {
    check(Provider::Cline);
}

#[test]
fn droid() {
    check(Provider::Droid);
}

#[test]
fn opencode() {
    check_databases(Provider::Opencode);
}

#[test]
fn goose() {
    check_databases(Provider::Goose);
}

/// The variable that names the folders which this program reads as another user.
#[cfg(target_os = "linux")]
const READ: &str = "READ_FORMATS_IN";

#[cfg(target_os = "linux")]
#[test]
fn list_works_without_write_access() {
    use std::{env, os::unix::fs::PermissionsExt as _, process::Command};
    let all = |base: &Path| -> String {
        let agent =
            |provider: Provider| Agent { folder: base.join(provider.as_str()), provider, _kept: None };
        Provider::ALL.into_iter().map(|provider| agent(provider).rendered()).collect()
    };
    if let Some(base) = env::var_os(READ) {
        let base = Path::new(&base);
        assert!(fs::write(base.join(Provider::Codex.as_str()).join("new"), "").is_err(), "it may write");
        println!("{}", all(base));
        return;
    }
    let kept = tempfile::tempdir().unwrap();
    let base = kept.path();
    for provider in Provider::ALL {
        // A plain reader would write next to a database that has a log.
        let suffixes: &[&str] = if provider == Provider::Opencode { &["", "-wal"] } else { &[""] };
        let agent = Agent::with(provider, suffixes);
        for path in files(&agent.folder) {
            let to = base.join(provider.as_str()).join(path.strip_prefix(&agent.folder).unwrap());
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::copy(&path, &to).unwrap();
            fs::File::options().write(true).open(&to).unwrap().set_modified(UNIX_EPOCH + FILE_TIME).unwrap();
        }
    }
    let program = base.join("formats");
    fs::copy(env::current_exe().unwrap(), &program).unwrap();
    let expected = all(base);
    // Read-only for their owner too. Root could still write, so it runs the reader as another user.
    let folders = |mode: u32| {
        let inner = |folder: &Path| fs::set_permissions(folder, fs::Permissions::from_mode(mode)).unwrap();
        let mut rest = vec![base.to_owned()];
        while let Some(folder) = rest.pop() {
            inner(&folder);
            rest.extend(fs::read_dir(&folder).unwrap().map(|it| it.unwrap().path()).filter(|it| it.is_dir()));
        }
    };
    folders(0o555);
    let before = state(base);
    let is_root = fs::write(base.join("new"), "").is_ok();
    let mut command = if is_root { Command::new("setpriv") } else { Command::new(&program) };
    if is_root {
        fs::remove_file(base.join("new")).unwrap();
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&program);
    }
    command.args(["--exact", "formats::list_works_without_write_access", "--nocapture"]);
    let output = command.env(READ, base).output().unwrap();
    assert_eq!(state(base), before);
    folders(0o755);
    let reply = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{reply}{}", String::from_utf8_lossy(&output.stderr));
    assert!(reply.contains(expected.trim()), "{reply}\n== instead of\n{expected}");
}

/// A user who reads the sessions of an agent will also start it in their folder.
#[test]
fn trust_catalogue_has_every_agent() {
    let loaders: BTreeSet<&str> = openagents_core::trust::catalogue()
        .iter()
        .flat_map(|entry| entry.loaders.iter().map(|loader| loader.name))
        .collect();
    for provider in Provider::ALL {
        assert!(loaders.contains(provider.display_name()), "{}", provider.display_name());
    }
}

fn assert_same(now: &str, before: &str, what: &str) {
    for (now, before) in now.lines().zip(before.lines()) {
        assert_eq!(now, before, "{what}");
    }
    assert_eq!(now.lines().count(), before.lines().count(), "{what}");
}

/// What a user can read of all sessions: rows, events with their lines, single lines, the end, and what a search finds.
fn everything(history: &History) -> String {
    let mut text = String::new();
    let listing = history.list(&Query { all: true, ..Query::default() }, &budget());
    assert!(!listing.timed_out && listing.unread == 0);
    for row in listing.rows {
        assert_eq!(
            history.find(&row.id, Some(row.provider), &budget()).map(|row| row.id),
            Some(row.id.clone())
        );
        writeln!(text, "{:?}", Transcript { gone: None, ..row.clone() }).unwrap();
        let end = history.read_transcript(&row, Span::default(), &budget(), &mut |event| {
            writeln!(text, "{}", rendered(&event)).unwrap();
            ControlFlow::Continue(())
        });
        writeln!(text, "{end:?}").unwrap();
        writeln!(text, "{:?}", history.line(&row, 2, &budget()).unwrap()).unwrap();
        writeln!(text, "{:?}", history.part(&row, Part::End, 2000, &budget()).unwrap()).unwrap();
        writeln!(text, "{:?}", history.find_lines(&row, "e", 50, &budget()).unwrap()).unwrap();
    }
    let query = SearchQuery { pattern: "e".into(), all: true, max_matches: 50, ..SearchQuery::default() };
    let found = history.search(&query, &budget(), &budget(), &()).unwrap();
    writeln!(text, "{:?}", found.matches).unwrap();
    text
}

#[test]
fn deleted_sessions_are_read_as_if_they_were_there() {
    let settings = KeepSettings { on: Some(true), ..KeepSettings::default() };
    for provider in Provider::ALL {
        let (agent, home) = (Agent::new(provider), tempfile::tempdir().unwrap());
        let copies = KeptCopies::open(home.path()).unwrap();
        let history = agent.history().with_copies(copies.clone());
        let (before, stamps_before) = (everything(&history), stamps(&agent.folder));
        let keeper = Keeper::start(copies, Arc::new(history.clone()), settings.clone(), true);
        keeper.round().unwrap();
        assert_eq!(keeper.status().waiting, 0, "{provider:?}");
        assert_eq!(stamps(&agent.folder), stamps_before, "{provider:?}: keeping wrote into the folder");
        for path in files(&agent.folder) {
            fs::remove_file(path).unwrap();
        }
        // At once, and after it was noticed.
        assert_same(&everything(&history), &before, provider.as_str());
        keeper.round().unwrap();
        assert_same(&everything(&history), &before, provider.as_str());
        let rows = history.list(&Query { all: true, ..Query::default() }, &budget()).rows;
        assert!(rows.iter().all(|row| row.gone.is_some()), "{provider:?}");
        keeper.stop();
        drop((history, keeper));
        // Another process, which only reads.
        let copies = KeptCopies::open_reader(home.path()).unwrap().unwrap();
        let history = agent.history().with_copies(copies.clone());
        assert_same(&everything(&history), &before, provider.as_str());
    }
}

#[test]
fn kept_sessions_come_and_go_with_their_logs() {
    let settings = KeepSettings { on: Some(true), ..KeepSettings::default() };
    let (agent, home) = (Agent::new(Provider::ClaudeCode), tempfile::tempdir().unwrap());
    let copies = KeptCopies::open(home.path()).unwrap();
    let history = agent.history().with_copies(copies.clone());
    let keeper = Keeper::start(copies.clone(), Arc::new(history.clone()), KeepSettings::default(), true);
    keeper.round().unwrap();
    assert_eq!(
        (keeper.status().sizes.collections, keeper.status().waiting),
        (0, 0),
        "not before the user agreed"
    );
    assert!(keeper.status().found.0 > 0);
    keeper.configure(settings);
    keeper.round().unwrap();
    let row = history.list(&Query::default(), &budget()).rows.remove(0);
    let find = || history.find(&row.id, None, &budget());
    assert_eq!(find().unwrap().gone, None);
    let log = fs::read(&row.file_path).unwrap();
    let month_ago = SystemTime::now() - Duration::from_secs(31 * 24 * 60 * 60);
    fs::File::options().write(true).open(&row.file_path).unwrap().set_modified(month_ago).unwrap();
    keeper.round().unwrap();
    fs::remove_file(&row.file_path).unwrap();
    keeper.round().unwrap();
    let gone = find().unwrap().gone.unwrap();
    assert_eq!(gone.reason, GoneReason::Retention);
    assert!(gone.since.is_some());
    // It is restored to a folder, and into the agent's.
    let to = home.path().join("restored");
    let roots = HistoryRoots::default().with(Provider::ClaudeCode, agent.folder.as_path());
    copies.restore_to(row.provider, &row.id, None, &to, &roots).unwrap();
    let restored = to.join(row.file_path.strip_prefix(&agent.folder).unwrap());
    assert_eq!(fs::read(restored).unwrap(), log);
    assert!(copies.restore_to(row.provider, &row.id, None, &to, &roots).is_err(), "not empty");
    let inside = agent.folder.join("projects/new");
    assert!(copies.restore_to(row.provider, &row.id, None, &inside, &roots).is_err(), "an agent's folder");
    copies.restore_into_agent(row.provider, &row.id).unwrap();
    assert_eq!(fs::read(&row.file_path).unwrap(), log);
    assert!(
        row.file_path.metadata().unwrap().modified().unwrap().elapsed().unwrap() < Duration::from_secs(60)
    );
    assert!(copies.restore_into_agent(row.provider, &row.id).is_err(), "nothing is overwritten");
    keeper.round().unwrap();
    assert_eq!(find().unwrap().gone, None);
    // Its copy is deleted, and then its log.
    keeper.forget(&|_, id, _| id == row.id).unwrap();
    keeper.round().unwrap();
    assert!(
        copies.restore_to(row.provider, &row.id, None, &home.path().join("b"), &roots).is_ok(),
        "its log exists"
    );
    fs::remove_file(&row.file_path).unwrap();
    keeper.forget(&|_, id, _| id == row.id).unwrap();
    keeper.round().unwrap();
    assert_eq!(find(), None);
    keeper.stop();
}

#[test]
fn sessions_that_an_agent_deletes_at_its_start_are_linked_first() {
    let settings = KeepSettings { on: Some(true), ..KeepSettings::default() };
    let (agent, home) = (Agent::new(Provider::ClaudeCode), tempfile::tempdir().unwrap());
    let copies = KeptCopies::open(home.path()).unwrap();
    let history = agent.history().with_copies(copies.clone());
    let before = everything(&history);
    let keeper = Keeper::start(copies, Arc::new(history.clone()), settings, true);
    assert_eq!(keeper.secure(Provider::ClaudeCode, Duration::from_secs(10)), Some(0));
    for path in files(&agent.folder) {
        fs::remove_file(path).unwrap();
    }
    keeper.round().unwrap();
    assert_same(&everything(&history), &before, "linked");
    assert_eq!(fs::read_dir(home.path().join("kept.noindex/links")).unwrap().count(), 0);
    keeper.stop();
}

#[test]
fn excluded_sessions_are_not_kept() {
    let settings = KeepSettings { on: Some(true), ..KeepSettings::default() };
    let (agent, home) = (Agent::new(Provider::Codex), tempfile::tempdir().unwrap());
    let copies = KeptCopies::open(home.path()).unwrap();
    let history = agent.history().with_copies(copies.clone());
    let keeper = Keeper::start(copies, Arc::new(history.clone()), settings, true);
    keeper.round().unwrap();
    assert!(keeper.status().sizes.collections > 0);
    for path in files(&agent.folder) {
        fs::remove_file(path).unwrap();
    }
    keeper.round().unwrap();
    let mut excluded = history.excluded();
    excluded.agents.push(Provider::Codex);
    history.exclude(excluded);
    keeper.forget_excluded().unwrap();
    keeper.round().unwrap();
    assert_eq!(keeper.status().sizes.collections, 0);
    history.exclude(openagents_transcripts::history::ExcludedSessions::default());
    assert_eq!(history.list(&Query { all: true, ..Query::default() }, &budget()).rows, []);
    keeper.stop();
}
