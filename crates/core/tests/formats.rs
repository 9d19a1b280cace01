//! Each agent's format on fixtures in the versions that its module names: the list, what happened in each session, and
//! that nothing is written into the agent's folder. Fixtures that end in `.sql` become a database.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use openagents_core::{
    CancellationToken,
    budget::Budget,
    history::{Event, EventKind, History, HistoryRoots, MemoryIndex, Provider, Query, Span, Transcript},
};
use std::{
    collections::BTreeMap,
    fmt::Write,
    fs,
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// 2026-11-01T00:00:00Z, the time of every file.
const FILE_TIME: Duration = Duration::from_secs(1_793_491_200);

struct Agent {
    folder: tempfile::TempDir,
    provider: Provider,
}

impl Agent {
    fn new(provider: Provider) -> Self {
        let agent = Self { folder: tempfile::tempdir().unwrap(), provider };
        let from =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/agents").join(provider.as_str());
        for path in files(&from) {
            let to = agent.folder.path().join(path.strip_prefix(&from).unwrap());
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::copy(&path, &to).unwrap();
            fs::File::options().write(true).open(&to).unwrap().set_modified(UNIX_EPOCH + FILE_TIME).unwrap();
        }
        agent
    }

    fn history(&self) -> History {
        let roots = HistoryRoots::default().with(self.provider, self.folder.path());
        History::new(roots, Arc::new(MemoryIndex::default()))
    }

    /// Renders the list, hidden sessions marked, and what happened in each.
    fn rendered(&self) -> String {
        let history = self.history();
        let listed = history.list(&Query::default(), &budget()).rows;
        let mut text = String::new();
        for row in history.list(&Query { all: true, ..Query::default() }, &budget()).rows {
            let hidden = if listed.contains(&row) { "" } else { " (hidden)" };
            writeln!(text, "== {}{hidden}", row.id).unwrap();
            self.head(&row, &mut text);
            let end = history.read(&row, Span::default(), &budget(), &mut |event| {
                writeln!(text, "{}", rendered(&event)).unwrap();
                ControlFlow::Continue(())
            });
            writeln!(text, "bad lines: {}", end.unwrap().bad_lines).unwrap();
        }
        text
    }

    fn head(&self, row: &Transcript, text: &mut String) {
        let path = row.file_path.strip_prefix(self.folder.path()).unwrap();
        writeln!(text, "{} in {:?} on {:?}", path.display(), row.cwd, row.branch).unwrap();
        let (title, model) = (&row.title, &row.model);
        writeln!(text, "{title:?} by {model:?}, {:?} prompts, {:?} tokens", row.user_turns, row.tokens)
            .unwrap();
        let time = |at: Option<i64>| at.map(|at| jiff::Timestamp::from_millisecond(at).unwrap().to_string());
        let (created, updated) = (time(row.created_at), time(Some(row.updated_at)));
        writeln!(text, "from {} to {}", created.unwrap_or_default(), updated.unwrap_or_default()).unwrap();
    }
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
    format!("{}{at} {kind}{name}{sidechain}: {text}{}{command}{outcome}", event.line, files.concat())
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

fn check(provider: Provider) {
    let agent = Agent::new(provider);
    let before = state(agent.folder.path());
    insta::assert_snapshot!(provider.as_str(), agent.rendered());
    assert_eq!(state(agent.folder.path()), before, "a reader wrote into the folder");
}

#[test]
fn gemini() {
    check(Provider::Gemini);
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
fn sessions_of_cursor_without_a_known_directory_are_found_by_the_name_of_the_workspace() {
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
