//! Five seconds after its start, Claude Code deletes every session whose log did not change for 30 days. With keeping
//! switched on none of them is lost, and the product changes nothing in Claude Code's folder.

use crate::{
    past::{PastSession, found_by_word, listed},
    scene::{CLAUDE_CODE, Scene, connected, found, keeping, new_session},
};
use anyhow::{Context as _, Result, ensure};
use openagents_e2e::terminal::TestEnv;
use serde_json::{Map, Value, json};
use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    time::{Duration, Instant, SystemTime},
};

/// Sessions that Claude Code deletes.
const OLD: usize = 500;
/// Sessions that it deletes within the next days: they are linked, and survive.
const YOUNGER: usize = 20;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// Claude Code's folder in a `TestEnv`.
const CLAUDE: &str = "claude";
/// What the log's prompt asks to remember. Each copy has another word of the same length.
const WORD: &str = "heliotrope";
/// Limit of the wait for the deletion.
const SWEEP: Duration = Duration::from_secs(90);

fn word(number: usize) -> String {
    format!("helio{number:05}")
}

/// Replaces the end of each UUID, so that no two copies have an id in common.
fn with_new_ids(text: &str, number: usize) -> String {
    const GROUPS: [usize; 5] = [8, 4, 4, 4, 12];
    let is_uuid = |at: usize| {
        let bytes = text.as_bytes().get(at..at + 36)?;
        let mut parts = bytes.split(|byte| *byte == b'-');
        let fits = GROUPS.iter().all(|length| {
            parts.next().is_some_and(|part| part.len() == *length && part.iter().all(u8::is_ascii_hexdigit))
        });
        fits.then_some(())
    };
    let (mut copy, mut at) = (String::with_capacity(text.len()), 0);
    while let Some(letter) = text[at..].chars().next() {
        if is_uuid(at).is_some() {
            copy.push_str(&format!("{}{number:012x}", &text[at..at + 24]));
            at += 36;
        } else {
            copy.push(letter);
            at += letter.len_utf8();
        }
    }
    copy
}

#[derive(Debug, PartialEq, Eq)]
struct FileState {
    bytes: Vec<u8>,
    modified: SystemTime,
    links: u64,
}

/// Returns the files of Claude Code's folder, without those that it writes at every start.
fn claude_files(env: &TestEnv) -> Result<BTreeMap<PathBuf, FileState>> {
    let folder = env.folder(CLAUDE);
    let own = [".claude.json", "plugins"].map(|name| folder.join(name));
    let (mut files, mut waiting) = (BTreeMap::new(), vec![folder]);
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if own.contains(&path) {
                continue;
            }
            let metadata = fs::symlink_metadata(&path)?;
            if metadata.is_dir() {
                waiting.push(path);
            } else if metadata.is_file() {
                let bytes = fs::read(&path)?;
                let state = FileState { bytes, modified: metadata.modified()?, links: metadata.nlink() };
                files.insert(path, state);
            }
        }
    }
    Ok(files)
}

/// The logs of a home with many sessions of Claude Code.
struct Copies {
    folder: PathBuf,
    /// Ids of the sessions that are deleted, each with its word.
    old: BTreeMap<String, String>,
    younger: BTreeMap<String, String>,
}

impl Copies {
    /// Copies a log, with the time of its last change.
    fn write(log: &Path) -> Result<Self> {
        let folder = log.parent().context("a folder")?.to_owned();
        let id = log.file_stem().and_then(|name| name.to_str()).context("an id")?;
        let text = fs::read_to_string(log)?;
        let mut copies = Self { folder, old: BTreeMap::new(), younger: BTreeMap::new() };
        for number in 1..=OLD + YOUNGER {
            let (id, word) = (with_new_ids(id, number), word(number));
            let path = copies.path(&id);
            fs::write(&path, with_new_ids(&text, number).replace(WORD, &word))?;
            let (age, group) = match number {
                ..=OLD => (35 * DAY, &mut copies.old),
                _ => (27 * DAY, &mut copies.younger),
            };
            fs::File::options().write(true).open(&path)?.set_modified(SystemTime::now() - age)?;
            group.insert(id, word);
        }
        Ok(copies)
    }

    fn path(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}.jsonl"))
    }

    fn left(&self) -> usize {
        self.old.keys().filter(|id| self.path(id).exists()).count()
    }

    fn all(&self) -> impl Iterator<Item = (&String, &String)> {
        self.old.iter().chain(&self.younger)
    }
}

/// A log by the real Claude Code, with two turns and a file that it read.
fn written_log(scene: &Scene) -> Result<PathBuf> {
    let claude = |flags: &str, text: &str| scene.peers.shell(&format!("claude {flags} -p '{text}'"));
    claude("", &format!("Remember the word {WORD} [[script:ReadsFile]]"))?;
    let projects = scene.peers.env.folder("claude/projects");
    let project = fs::read_dir(&projects)?.next().context("a project")??.path();
    let log = fs::read_dir(&project)?.next().context("a log")??.path();
    let id = log.file_stem().and_then(|name| name.to_str()).context("an id")?;
    claude(&format!("--resume {id}"), "And the word zinnia [[script:Nothing]]")?;
    Ok(log)
}

fn scripts() -> Map<String, Value> {
    let read = json!({"intent": "read_file", "path": "README.md"});
    let turns = json!([{"text": "I read it.", "tool_calls": [read]}, {"text": "A folder with a readme."}]);
    Map::from_iter([("ReadsFile".to_owned(), json!({"turns": turns}))])
}

/// Reads all copies as a client sees them.
async fn read_all(scene: &mut Scene, copies: &Copies) -> Result<BTreeMap<String, PastSession>> {
    let mut read = BTreeMap::new();
    for (id, _) in copies.all() {
        let session = PastSession::read(&mut scene.client, CLAUDE_CODE.mode, id).await?;
        read.insert(id.clone(), session);
    }
    Ok(read)
}

/// Waits until the index has all sessions.
async fn indexed(scene: &mut Scene) -> Result<()> {
    let started = Instant::now();
    loop {
        let settings = scene.client.request("_openagents/history/settings", json!({})).await?;
        let progress = &settings["progress"];
        if progress["done"] == progress["total"] && progress["total"].as_u64() > Some((OLD + YOUNGER) as u64)
        {
            return Ok(());
        }
        ensure!(started.elapsed() < SWEEP, "{settings}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// Compares what is left of Claude Code's files with what was there before, except for the log that was continued.
fn check_files(
    env: &TestEnv,
    copies: &Copies,
    before: &BTreeMap<PathBuf, FileState>,
    continued: &Path,
) -> Result<()> {
    let now = claude_files(env)?;
    for (path, state) in before.iter().filter(|(path, _)| path.as_path() != continued) {
        let is_old = copies.old.keys().any(|id| copies.path(id) == **path);
        match now.get(path) {
            Some(_) if is_old => anyhow::bail!("{} was not deleted", path.display()),
            Some(same) => ensure!(same == state, "{} changed: {} links", path.display(), same.links),
            None => ensure!(is_old, "{} is gone", path.display()),
        }
    }
    for (path, state) in &now {
        ensure!(state.links == 1, "{} has {} links", path.display(), state.links);
    }
    Ok(())
}

#[tokio::test]
async fn no_session_is_lost_when_claude_code_deletes_500() -> Result<()> {
    let programs = ["claude", "claude-agent-acp"];
    let mut scene = Scene::with_scripts(CLAUDE_CODE, &programs, false, scripts()).await?;
    scene.client.request("_openagents/keep/configure", json!({"on": true})).await?;
    scene.client.request("_openagents/history/configure", json!({"index": true})).await?;
    let log = written_log(&scene)?;
    // A server with other settings reads them first, and keeps nothing.
    scene.peers.restart("other-home")?;
    let copies = Copies::write(&log)?;
    // Claude Code deletes once a day.
    let _ = fs::remove_file(scene.peers.env.folder("claude/.last-cleanup"));
    scene.client = connected(&scene.peers).await?;
    let before = read_all(&mut scene, &copies).await?;
    let files = claude_files(&scene.peers.env)?;

    scene.peers.restart("home")?;
    let started = Instant::now();
    scene.client = connected(&scene.peers).await?;
    found(&mut scene.client, CLAUDE_CODE).await?;
    scene.session = new_session(&mut scene.client, CLAUDE_CODE, &scene.peers.env.workspace).await?;
    let asked_after = started.elapsed();
    let (_, reply) = scene.turn("Nothing", "reject_once", None).await?;
    let answered_after = started.elapsed();
    while copies.left() > 0 {
        ensure!(started.elapsed() < SWEEP, "{} sessions are not deleted: {reply}", copies.left());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let deleted_after = started.elapsed();
    keeping(&mut scene, |kept| kept["waiting"] == 0 && kept["gone"] == OLD).await?;
    let gone_after = started.elapsed();
    indexed(&mut scene).await?;

    let kept_after = started.elapsed();
    let rows = listed(&mut scene.client, CLAUDE_CODE.mode).await?;
    let after = read_all(&mut scene, &copies).await?;
    for (id, word) in copies.all() {
        let (row, kept) = (rows.get(id).with_context(|| format!("{id} is not listed"))?, &after[id]);
        ensure!(kept.updates == before[id].updates, "{id} reads differently");
        let reason = &row["kept"]["reason"];
        ensure!(copies.younger.contains_key(id) || reason == "retention", "{row}");
        ensure!(found_by_word(&mut scene.client, word).await?.contains(id), "{word} is not found");
        let fields = ["title", "cwd", "branch", "model", "createdAt", "updatedAt"];
        ensure!(fields.iter().all(|field| row[field] == before[id].row[field]), "{row} {}", before[id].row);
    }

    // The whole history of a deleted session is in the request of the model that continues it.
    let (id, word) = copies.old.iter().next().context("a session")?;
    continue_gone(&mut scene, &copies, id, word).await?;
    scene.close().await?;
    check_files(&scene.peers.env, &copies, &files, &copies.path(id))?;
    print(&[
        ("sessions deleted by Claude Code", copies.old.len().to_string()),
        ("listed, found and read as before", copies.all().count().to_string()),
        ("the agent's first words", reply.clone()),
        ("first prompt sent after", format!("{:.1} s", asked_after.as_secs_f64())),
        ("answered after", format!("{:.1} s", answered_after.as_secs_f64())),
        ("all deleted after", format!("{:.1} s", deleted_after.as_secs_f64())),
        ("all known to be gone after", format!("{:.1} s", gone_after.as_secs_f64())),
        ("indexed after", format!("{:.1} s", kept_after.as_secs_f64())),
        ("compared after", format!("{:.1} s", started.elapsed().as_secs_f64())),
    ]);
    scene.peers.end()
}

async fn continue_gone(scene: &mut Scene, copies: &Copies, id: &str, word: &str) -> Result<()> {
    scene.peers.forget_model_requests()?;
    let here = json!({"agent": CLAUDE_CODE.mode, "cwd": scene.peers.env.workspace, "id": id});
    let continued = scene.client.request("_openagents/agents/continue_session", here).await?;
    scene.session = continued["sessionId"].clone();
    scene.client.request("_openagents/attach", json!({"sessionId": scene.session, "since": 0})).await?;
    let (_, reply) = scene.say("What was it? [[script:Nothing]]", "reject_once", None).await?;
    ensure!(reply.contains("Nothing to do.") && !reply.contains("starts a new session"), "{reply}");
    let history =
        [word, "I read it.", "A small folder.", "A folder with a readme.", "zinnia", "What was it?"];
    let requests = scene.peers.model_requests()?;
    let has_all = |request: &String| history.iter().all(|text| request.contains(text));
    ensure!(requests.iter().any(has_all), "no request has the whole history of {id}");
    let log = fs::read_to_string(copies.path(id))?;
    ensure!(log.contains(word) && log.contains("What was it?"), "it is not continued in its log");
    Ok(())
}

#[expect(clippy::print_stdout, reason = "the figures of a long test")]
fn print(figures: &[(&str, String)]) {
    for (what, figure) in figures {
        println!("{what:<40} {figure}");
    }
}
