//! No part of an excluded or deleted transcript stays in the data folder: every byte of every file is checked, and
//! compressed texts are decompressed.

use crate::support::{self, Client, echo};
use openagents_bridge::{Bridge, BridgeConfig};
use openagents_transcripts::history::{HistoryRoots, Provider};
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

/// The name of the excluded folder.
const FOLDER: &str = "xoycwd";
/// Words in the transcripts of that folder: a first prompt, a title, a branch, answers, a document, and the user's own
/// title. No two share a prefix, because an index stores only how a word differs from the one before.
const SECRETS: [&str; 7] = [FOLDER, "vexprompt", "wuqtitle", "yarbranch", "zilbody", "jibgemini", "qumlabel"];

const CLAUDE: &str = "c1a0de00-0000-4000-8000-000000000001";
const GEMINI: &str = "7d0c0002-0000-4000-8000-000000000002";

struct Stage {
    keep: tempfile::TempDir,
}

impl Stage {
    /// Creates transcripts of two agents in the folder: one made of lines, and one a document, whose text the index
    /// keeps. `open` more are in another folder.
    fn new(open: usize) -> Self {
        let stage = Self { keep: tempfile::tempdir().unwrap() };
        stage.claude(FOLDER, CLAUDE, "vexprompt", "yarbranch", "zilbody", "wuqtitle");
        for number in 0..open {
            let id = format!("c1a0de00-0000-4000-8000-1{number:011}");
            stage.claude("plain", &id, &format!("Question {number}"), "main", "It is.", "A title");
        }
        let chats = stage.base().join("gemini/tmp/hash/chats");
        fs::create_dir_all(&chats).unwrap();
        fs::write(stage.base().join("gemini/tmp/hash/.project_root"), stage.folder().to_str().unwrap())
            .unwrap();
        let message = |kind: &str, text: &str| json!({"id": kind, "type": kind, "content": text});
        let session = json!({
            "sessionId": GEMINI, "startTime": "2026-04-01T09:00:00.000Z", "lastUpdated": "2026-04-01T09:00:04.000Z",
            "messages": [message("user", "Say jibgemini"), message("gemini", "jibgemini, jibgemini")],
        });
        fs::write(chats.join("session-2026-04-01T09-00-7d0c0002.json"), session.to_string()).unwrap();
        stage
    }

    fn claude(&self, folder: &str, id: &str, prompt: &str, branch: &str, body: &str, title: &str) {
        let cwd = self.base().join(folder);
        fs::create_dir_all(&cwd).unwrap();
        let line = |role: &str, text: &str| {
            let content = json!([{"type": "text", "text": text}]);
            json!({"type": role, "cwd": cwd, "gitBranch": branch, "message": {"role": role, "content": content}})
        };
        let mut log = format!("{}\n{}\n", line("user", prompt), line("assistant", body));
        for number in 0..40 {
            log += &format!("{}\n", line("assistant", &format!("{body} number {number}")));
        }
        log += &format!("{}\n", json!({"type": "custom-title", "customTitle": title, "sessionId": id}));
        let project = self.base().join("claude/projects").join(folder);
        fs::create_dir_all(&project).unwrap();
        fs::write(project.join(format!("{id}.jsonl")), log).unwrap();
    }

    fn base(&self) -> PathBuf {
        self.keep.path().canonicalize().unwrap()
    }

    fn folder(&self) -> PathBuf {
        self.base().join(FOLDER)
    }

    fn home(&self) -> PathBuf {
        self.base().join("home")
    }

    fn config(&self) -> BridgeConfig {
        let workspace = self.base().join("workspace");
        fs::create_dir_all(&workspace).unwrap();
        let history = HistoryRoots::default()
            .with(Provider::ClaudeCode, self.base().join("claude"))
            .with(Provider::Gemini, self.base().join("gemini"));
        BridgeConfig { history, ..support::config(&self.home(), &workspace) }
    }

    /// Starts a bridge, waits until everything is indexed, and gives both transcripts a title of the user.
    async fn indexed(&self) -> (Bridge, Client) {
        let (bridge, mut desk) = self.start(false).await;
        for (provider, id, word) in [("claude-code", CLAUDE, "zilbody"), ("gemini", GEMINI, "jibgemini")] {
            while search(&mut desk, word).await == 0 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            let label = json!({"provider": provider, "id": id, "title": "qumlabel", "pinned": true});
            desk.request("_openagents/sessions/label", label).await;
        }
        for secret in SECRETS {
            assert!(
                self.traces().iter().any(|(found, _)| *found == secret),
                "{secret} is not looked for in the right places"
            );
        }
        (bridge, desk)
    }

    async fn start(&self, temporary: bool) -> (Bridge, Client) {
        let bridge = support::start_as(BridgeConfig { temporary, ..self.config() }, echo).await.unwrap();
        let desk = support::acp(bridge.address().port(), bridge.token()).await;
        (bridge, desk)
    }

    /// Returns the secrets in files of the data folder, each with the file's name. Ignores the list of exclusions.
    fn traces(&self) -> Vec<(&'static str, String)> {
        let mut found = Vec::new();
        for path in files(&self.home()) {
            let mut bytes = fs::read(&path).unwrap_or_default();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            // A new list is written next to the old one and then renamed.
            if name == "history-settings.json" || name.starts_with(".tmp") {
                let text = String::from_utf8(bytes).unwrap();
                bytes = text.replace(self.folder().to_str().unwrap(), "").into_bytes();
            }
            bytes.extend(unpacked(&bytes));
            bytes.extend(texts(&path));
            bytes.make_ascii_lowercase();
            // Skips the letters that the word may share with another one.
            let is_in = |secret: &&str| memchr::memmem::find(&bytes, &secret.as_bytes()[2..]).is_some();
            found.extend(SECRETS.into_iter().filter(is_in).map(|secret| (secret, name.clone())));
        }
        found
    }

    async fn until_clean(&self) {
        for _ in 0..1_000 {
            if self.traces().is_empty() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("{:?} stay in the data folder", self.traces());
    }

    /// Checks that there are no traces now, after a shutdown, and after another start.
    async fn ends_clean(&self, bridge: Bridge) {
        assert_eq!(self.traces(), []);
        bridge.shutdown().await;
        assert_eq!(self.traces(), [], "after the end");
        let (bridge, mut desk) = self.start(false).await;
        all_indexed(&mut desk).await;
        assert_eq!(search(&mut desk, "zilbody").await + search(&mut desk, "jibgemini").await, 0);
        assert_eq!(self.traces(), [], "after another start");
        bridge.shutdown().await;
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// Decompresses the contiguous compressed texts in a file.
fn unpacked(bytes: &[u8]) -> Vec<u8> {
    let mut texts = Vec::new();
    for at in memchr::memmem::find_iter(bytes, &[0x28, 0xb5, 0x2f, 0xfd]) {
        if let Ok(decoder) = zstd::stream::read::Decoder::new(&bytes[at..]) {
            // Up to the first damaged byte.
            let _ = std::io::Read::read_to_end(&mut decoder.single_frame(), &mut texts);
        }
    }
    texts
}

/// Decompresses the texts of an index through SQLite, because they may span several pages.
fn texts(path: &Path) -> Vec<u8> {
    if path.file_name().is_none_or(|name| name != "history.db") {
        return Vec::new();
    }
    let database = rusqlite::Connection::open(path).unwrap();
    let mut statement = database.prepare("SELECT lines FROM texts WHERE lines IS NOT NULL").unwrap();
    let blocks = statement.query_map([], |row| row.get::<_, Vec<u8>>(0)).unwrap();
    blocks.flat_map(|block| zstd::stream::decode_all(&block.unwrap()[..]).unwrap()).collect()
}

async fn search(desk: &mut Client, word: &str) -> usize {
    let found = desk.request("_openagents/sessions/search", json!({"query": word})).await;
    found["sessions"].as_array().unwrap().len()
}

/// Asks until the answer is as wanted, for a minute at most.
async fn asked_until(desk: &mut Client, method: &str, params: Value, is_wanted: impl Fn(&Value) -> bool) {
    let asking = async {
        while !is_wanted(&desk.request(method, params.clone()).await) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), asking).await.unwrap();
}

async fn all_indexed(desk: &mut Client) {
    asked_until(desk, "_openagents/history/settings", json!({}), |settings| {
        let progress = &settings["progress"];
        progress["total"].as_u64() > Some(0) && progress["done"] == progress["total"]
    })
    .await;
}

/// Fills `usage.db` with the names of sessions and folders.
async fn count_tokens(desk: &mut Client) {
    let by_session = json!({"by": "session"});
    asked_until(desk, "_openagents/usage/report", by_session, |report| report["reading"].is_null()).await;
}

async fn exclude(desk: &mut Client, what: Value) {
    desk.request("_openagents/history/configure", json!({"exclude": what})).await;
}

/// Keeps all sessions.
async fn keep_all(desk: &mut Client) {
    desk.request("_openagents/keep/configure", json!({"on": true})).await;
    asked_until(desk, "_openagents/keep/status", json!({}), |kept| {
        kept["waiting"] == 0 && kept["sessions"].as_u64() > Some(0) && kept["sessions"] == kept["found"]
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn excluded_folder_leaves_no_kept_copies() {
    let stage = Stage::new(2);
    let (bridge, mut desk) = stage.indexed().await;
    keep_all(&mut desk).await;
    for agent in ["claude", "gemini"] {
        fs::remove_dir_all(stage.base().join(agent)).unwrap();
        fs::create_dir_all(stage.base().join(agent)).unwrap();
    }
    let listed = desk.request("_openagents/history/list", json!({})).await;
    let of_folder = |row: &&Value| row["cwd"].as_str() == stage.folder().to_str();
    let kept: Vec<_> = listed["sessions"].as_array().unwrap().iter().filter(of_folder).collect();
    assert_eq!(kept.len(), 2);
    assert!(kept.iter().all(|row| row["kept"]["reason"].is_string()), "{kept:?}");
    exclude(&mut desk, json!({"workspace": stage.folder()})).await;
    stage.ends_clean(bridge).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn excluded_folder_leaves_no_traces() {
    let stage = Stage::new(2);
    let (bridge, mut desk) = stage.indexed().await;
    count_tokens(&mut desk).await;
    exclude(&mut desk, json!({"workspace": stage.folder()})).await;
    stage.ends_clean(bridge).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn excluded_agent_leaves_no_traces() {
    let stage = Stage::new(2);
    let (bridge, mut desk) = stage.indexed().await;
    count_tokens(&mut desk).await;
    for agent in ["gemini", "claude-code"] {
        exclude(&mut desk, json!({"agent": agent})).await;
    }
    assert_eq!(stage.traces(), []);
    bridge.shutdown().await;
    assert_eq!(stage.traces(), [], "after the end");
}

#[tokio::test(flavor = "multi_thread")]
async fn deleted_log_leaves_no_traces() {
    let stage = Stage::new(2);
    let (bridge, _desktop) = stage.indexed().await;
    fs::remove_dir_all(stage.base().join("claude/projects").join(FOLDER)).unwrap();
    fs::remove_dir_all(stage.base().join("gemini/tmp/hash")).unwrap();
    stage.until_clean().await;
    stage.ends_clean(bridge).await;
}

/// Regression: with the index switched off, its contents stayed.
#[tokio::test(flavor = "multi_thread")]
async fn deleted_log_leaves_disabled_index() {
    let stage = Stage::new(2);
    let (bridge, mut desk) = stage.indexed().await;
    desk.request("_openagents/history/configure", json!({"index": false})).await;
    fs::remove_dir_all(stage.base().join("claude/projects").join(FOLDER)).unwrap();
    fs::remove_dir_all(stage.base().join("gemini/tmp/hash")).unwrap();
    stage.until_clean().await;
    bridge.shutdown().await;
    assert_eq!(stage.traces(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn folder_excluded_while_indexing_leaves_no_traces() {
    let stage = Stage::new(150);
    let (bridge, mut desk) = stage.start(false).await;
    loop {
        let settings = desk.request("_openagents/history/settings", json!({})).await;
        if settings["progress"]["done"].as_u64() > Some(0) {
            break;
        }
    }
    exclude(&mut desk, json!({"workspace": stage.folder()})).await;
    assert_eq!(stage.traces(), []);
    all_indexed(&mut desk).await;
    stage.ends_clean(bridge).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn offline_exclusions_and_deletions_apply_at_start() {
    let stage = Stage::new(2);
    let (bridge, _desktop) = stage.indexed().await;
    bridge.shutdown().await;
    fs::remove_dir_all(stage.base().join("gemini/tmp/hash")).unwrap();
    let settings = json!({"excluded": {"workspaces": [stage.folder()]}});
    fs::write(stage.home().join("history-settings.json"), settings.to_string()).unwrap();
    let (bridge, _desktop) = stage.start(false).await;
    stage.until_clean().await;
    stage.ends_clean(bridge).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn folder_excluded_by_command_leaves_no_traces() {
    let stage = Stage::new(2);
    let (bridge, _desktop) = stage.indexed().await;
    bridge.shutdown().await;
    let (bridge, mut desk) = stage.start(true).await;
    exclude(&mut desk, json!({"workspace": stage.folder()})).await;
    stage.ends_clean(bridge).await;
}

/// Regression: after a clean shutdown, all data was in the logs next to the databases.
#[tokio::test(flavor = "multi_thread")]
async fn clean_shutdown_leaves_one_file_per_database() {
    for temporary in [false, true] {
        let stage = Stage::new(2);
        if temporary {
            stage.indexed().await.0.shutdown().await;
        }
        let (bridge, mut desk) = match temporary {
            false => stage.indexed().await,
            true => stage.start(true).await,
        };
        let workspace = stage.base().join("workspace");
        let begun = desk.request("_openagents/explore", json!({"root": workspace, "goals": ["One"]})).await;
        let id = begun["sessionId"].as_str().unwrap().to_owned();
        bridge.shutdown().await;
        let copy = tempfile::tempdir().unwrap();
        for name in ["openagents.sqlite", "history.db", "transcripts.sqlite", "usage.db"] {
            fs::copy(stage.home().join(name), copy.path().join(name)).unwrap();
            let log = fs::metadata(stage.home().join(format!("{name}-wal"))).map_or(0, |log| log.len());
            assert_eq!(log, 0, "{name}");
        }
        let count = |name: &str, table: &str| {
            let database = rusqlite::Connection::open(copy.path().join(name)).unwrap();
            database
                .query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get::<_, u64>(0))
                .unwrap()
        };
        assert_eq!(count("history.db", "sessions"), 4);
        assert_eq!(count("transcripts.sqlite", "transcripts"), 4);
        let store = openagents_bridge::open_store(copy.path()).unwrap();
        assert!(!store.updates_after(&id, 0, 100).unwrap().is_empty());
        assert_eq!(store.transcript_labels().unwrap().len(), 2);
    }
}
