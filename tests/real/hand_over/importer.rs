//! Codex's importer of Claude Code's sessions, on the same tasks: what the imported session says, to compare with the
//! brief.

use super::{
    check::Log,
    tasks::{Fact, Task},
};
use anyhow::{Context as _, Result, ensure};
use openagents_e2e::peers::Peers;
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead as _, BufReader, Lines, Write as _},
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Stdio},
};

/// Its home in a `TestEnv`.
const HOME: &str = "importer";

/// Has Codex import the session of Claude Code in a folder, and returns the imported session.
pub(super) fn imported(peers: &Peers, folder: &Path) -> Result<Log> {
    let home = peers.env.folder(HOME);
    let codex = home.join("codex");
    if !home.exists() {
        fs::create_dir_all(&codex)?;
        fs::copy(peers.env.folder("codex/config.toml"), codex.join("config.toml"))?;
        symlink(peers.env.folder("claude"), home.join(".claude"))?;
    }
    let line = format!("HOME='{0}' CODEX_HOME='{0}/codex' exec codex app-server", home.display());
    let mut server = AppServer::start(peers, &line)?;
    server.call("initialize", json!({"clientInfo": {"name": "test", "title": "Test", "version": "1"}}))?;
    server.write(&json!({"method": "initialized"}))?;
    let mut found = server.call("externalAgentConfig/detect", json!({"includeHome": true}))?;
    let items = found["items"].as_array_mut().context("items")?;
    items.retain(|item| item["itemType"] == "SESSIONS");
    for item in items.iter_mut() {
        let sessions = item["details"]["sessions"].as_array_mut().context("sessions")?;
        sessions.retain(|session| session["cwd"].as_str() == folder.to_str());
        ensure!(!sessions.is_empty(), "Codex finds no session in {}", folder.display());
    }
    ensure!(!items.is_empty(), "Codex finds no sessions");
    server.call("externalAgentConfig/import", json!({"migrationItems": items}))?;
    let ended = server.until("externalAgentConfig/import/completed")?;
    let result = &ended["params"]["itemTypeResults"][0];
    let id = result["successes"][0]["target"].as_str().with_context(|| result.to_string())?;
    let path = rollout(&codex.join("sessions"), id)?.context("the imported session has no file")?;
    Log::new(&fs::read_to_string(path)?)
}

/// Counts the facts of the first brief that a conversation says, and all of them.
pub(super) fn known(task: &Task, conversation: &str) -> (usize, usize) {
    let facts = task.facts();
    let of_first: Vec<&Fact> = facts.iter().filter(|fact| fact.briefs[0]).collect();
    let says = |fact: &&&Fact| match fact.what {
        "failing command" => {
            conversation.contains(&task.failing) && conversation.to_lowercase().contains("exit code 1")
        }
        _ => conversation.contains(&fact.text),
    };
    (of_first.iter().filter(says).count(), of_first.len())
}

fn rollout(folder: &Path, id: &str) -> Result<Option<PathBuf>> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let found = if path.is_dir() {
            rollout(&path, id)?
        } else {
            Some(path).filter(|path| path.to_string_lossy().contains(id))
        };
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// A running `codex app-server`. Stopped when it is dropped.
struct AppServer {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    last_id: u64,
}

impl AppServer {
    fn start(peers: &Peers, line: &str) -> Result<Self> {
        let mut command = peers.command(line)?;
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let input = child.stdin.take().context("stdin")?;
        let output = BufReader::new(child.stdout.take().context("stdout")?).lines();
        Ok(Self { child, input, output, last_id: 0 })
    }

    fn write(&mut self, message: &Value) -> Result<()> {
        Ok(writeln!(self.input, "{message}")?)
    }

    fn read(&mut self) -> Result<Value> {
        Ok(serde_json::from_str(&self.output.next().context("it has ended")??)?)
    }

    fn call(&mut self, method: &str, params: Value) -> Result<Value> {
        self.last_id += 1;
        let id = self.last_id;
        self.write(&json!({"id": id, "method": method, "params": params}))?;
        loop {
            let mut message = self.read()?;
            if message["id"] == id {
                ensure!(message["error"].is_null(), "{method}: {message}");
                return Ok(message["result"].take());
            }
        }
    }

    fn until(&mut self, method: &str) -> Result<Value> {
        loop {
            let message = self.read()?;
            if message["method"] == method {
                return Ok(message);
            }
        }
    }
}

impl Drop for AppServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
