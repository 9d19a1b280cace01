//! Sessions of Claude Code that were begun in a terminal: one that is still open there is not continued here, and the
//! mode in which it ran there does not come along.

use crate::scene::{CLAUDE_CODE, Scene, new_session};
use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use std::{
    fs,
    path::PathBuf,
    time::{Duration, Instant},
};

/// Limit of every wait.
const HANGS: Duration = Duration::from_secs(60);

/// Lets Claude Code start in a terminal without its questions at the first start.
pub(crate) fn answer_first_questions(scene: &Scene) -> Result<()> {
    let path = scene.peers.env.folder("claude/.claude.json");
    let mut settings: Value = serde_json::from_str(&fs::read_to_string(&path)?)?;
    settings["hasCompletedOnboarding"] = json!(true);
    settings["theme"] = json!("dark");
    settings["customApiKeyResponses"] = json!({"approved": ["sk-ant-scripted"], "rejected": []});
    let folder = scene.peers.env.workspace.to_str().context("a path that is text")?;
    settings["projects"][folder] =
        json!({"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true});
    Ok(fs::write(path, settings.to_string())?)
}

/// Begins a session with `claude -p` and returns its id.
pub(crate) fn begin_in_terminal(scene: &Scene, mode: &str, text: &str) -> Result<String> {
    let line = format!("claude --permission-mode {mode} --output-format json -p '{text}'");
    let ended: Value = serde_json::from_str(&scene.peers.shell(&line)?)?;
    Ok(ended["session_id"].as_str().context("an id")?.to_owned())
}

/// Continues a session here; the error if the server refuses.
async fn continue_here(scene: &mut Scene, id: &str, copy: bool) -> Result<Value> {
    let here = json!({"agent": CLAUDE_CODE.mode, "cwd": scene.peers.env.workspace, "id": id, "copy": copy});
    let continued = scene.client.request("_openagents/agents/continue_session", here).await?;
    scene.session = continued["sessionId"].clone();
    let attach = json!({"sessionId": scene.session, "since": 0});
    scene.client.request("_openagents/attach", attach).await
}

/// Returns the process that has a session open, by the files of Claude Code.
pub(crate) fn open_process(scene: &Scene, id: &str) -> Result<Option<u64>> {
    for entry in fs::read_dir(scene.peers.env.folder("claude/sessions"))? {
        let text = fs::read_to_string(entry?.path()).unwrap_or_default();
        let process: Value = serde_json::from_str(&text).unwrap_or_default();
        if process["sessionId"] == id {
            return Ok(process["pid"].as_u64());
        }
    }
    Ok(None)
}

#[tokio::test]
async fn session_that_is_open_in_terminal_is_not_continued() -> Result<()> {
    let mut scene = Scene::open(CLAUDE_CODE).await?;
    let id = begin_in_terminal(&scene, "default", "Remember the word heliotrope [[script:Nothing]]")?;
    answer_first_questions(&scene)?;
    let mut terminal = scene.peers.in_terminal(&format!("exec claude --resume {id}"))?;
    terminal.until("heliotrope", 0)?;
    let started = Instant::now();
    let process = loop {
        if let Some(process) = open_process(&scene, &id)? {
            break process;
        }
        ensure!(started.elapsed() < HANGS, "Claude Code does not name its session");
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    let log = log_of(&scene, &id)?;
    let before = fs::read(&log)?;
    let refused = continue_here(&mut scene, &id, false).await.err().context("it is open in a terminal")?;
    let refused = format!("{refused:#}");
    let says = [format!("process {process}"), "open in Claude Code since".to_owned()];
    ensure!(says.iter().all(|words| refused.contains(words.as_str())), "{refused}");

    // A copy can be continued now, and the session itself once the terminal is closed.
    let mut terminal = Some(terminal);
    for copy in [true, false] {
        if !copy {
            ensure!(fs::read(&log)? == before, "the log changed");
            terminal.take();
        }
        scene.peers.forget_model_requests()?;
        continue_here(&mut scene, &id, copy).await?;
        let (_, reply) = scene.turn("Nothing", "reject_once", None).await?;
        ensure!(!reply.contains("starts a new session"), "copy {copy}: {reply}");
        ensure!(scene.peers.model_got("heliotrope")?, "copy {copy}: it does not know what was said");
        scene.close().await?;
    }
    ensure!(fs::read(&log)?.starts_with(&before), "the log lost lines");
    ensure!(fs::read(&log)?.len() > before.len(), "the session was not continued in its log");
    scene.peers.end()
}

fn log_of(scene: &Scene, id: &str) -> Result<PathBuf> {
    let projects = fs::read_dir(scene.peers.env.folder("claude/projects"))?;
    let paths = projects.flatten().map(|project| project.path().join(format!("{id}.jsonl")));
    paths.into_iter().find(|path| path.exists()).context("its log")
}

#[tokio::test]
async fn first_prompt_of_continued_session_asks_before_edits() -> Result<()> {
    let mut scene = Scene::open(CLAUDE_CODE).await?;
    let files = ["one.txt", "two.txt"].map(|name| scene.peers.env.workspace.join(name));
    for mode in ["acceptEdits", "auto", "plan", "bypassPermissions"] {
        let id = begin_in_terminal(&scene, mode, "Write both [[script:Edits]]")?;
        let log = fs::read_to_string(log_of(&scene, &id)?)?;
        // Root may not bypass permissions.
        let is_logged = log.contains(&format!("\"permissionMode\":\"{mode}\""));
        ensure!(is_logged || mode == "bypassPermissions", "{mode} is not in the log");
        ensure!(mode != "acceptEdits" || files.iter().all(|file| file.exists()), "no edits in {mode}");
        for file in files.iter().filter(|file| file.exists()) {
            fs::remove_file(file)?;
        }
        continue_here(&mut scene, &id, false).await?;
        let (asked, reply) = scene.turn("Edits", "reject_once", None).await?;
        ensure!(!reply.contains("starts a new session"), "{mode}: {reply}");
        ensure!(asked > 0, "{mode}: nothing was asked: {reply}");
        let offer = "Its mode was “Accept edits” (acceptEdits). Here it asks first";
        ensure!(mode != "acceptEdits" || reply.contains(offer), "the old mode is not offered: {reply}");
        ensure!(files.iter().all(|file| !file.exists()), "{mode}: a file was written unasked");
        let (asked, reply) = scene.turn("Edits", "allow_once", None).await?;
        ensure!(asked == files.len(), "{mode}: asked {asked} times: {reply}");
        ensure!(files.iter().all(|file| file.exists()), "{mode}: {reply}");
        scene.close().await?;
        for file in &files {
            fs::remove_file(file)?;
        }
        // Sessions do not share their agent's process.
        let workspace = scene.peers.env.workspace.clone();
        scene.session = new_session(&mut scene.client, CLAUDE_CODE, &workspace).await?;
    }
    scene.peers.end()
}
