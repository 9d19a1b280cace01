//! Runs the real `openagents` with a separate home.

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::mpsc::RecvTimeoutError,
    time::Duration,
};

/// Far more than any command needs on a busy machine.
const RUN_LIMIT: Duration = Duration::from_secs(300);

/// A home folder, a workspace and the agents' folders, all empty.
#[derive(Debug)]
pub struct TestEnv {
    keep: tempfile::TempDir,
    pub workspace: PathBuf,
}

impl TestEnv {
    pub fn new(name: &str, files: &[(&str, &str)]) -> Result<Self> {
        let keep = tempfile::tempdir()?;
        let workspace = fs::canonicalize(keep.path())?.join(name);
        fs::create_dir(&workspace)?;
        for (path, text) in files {
            let path = workspace.join(path);
            fs::create_dir_all(path.parent().context("a file has a folder")?)?;
            fs::write(path, text)?;
        }
        Ok(Self { keep, workspace })
    }

    /// Returns one of its folders: `home`, `codex`, `claude`.
    pub fn folder(&self, name: &str) -> PathBuf {
        self.keep.path().join(name)
    }

    /// Writes a log below an agent's folder; `WORKSPACE` in a line is replaced with the workspace.
    pub fn log(&self, path: &str, lines: &[Value]) -> Result<()> {
        let path = self.folder(path);
        fs::create_dir_all(path.parent().context("a log has a folder")?)?;
        let workspace = self.workspace.display().to_string();
        let text: String =
            lines.iter().map(|line| format!("{line}\n").replace("WORKSPACE", &workspace)).collect();
        Ok(fs::write(path, text)?)
    }

    /// Returns an `openagents` command with its environment set.
    pub fn openagents(&self, arguments: &[&str]) -> Result<Command> {
        let mut command = Command::new(program("openagents")?);
        self.surround(command.args(arguments));
        Ok(command)
    }

    /// Sets a program's environment: the workspace, the home folder and the agents' folders.
    pub fn surround(&self, command: &mut Command) {
        command
            .current_dir(&self.workspace)
            .env("HOME", self.keep.path())
            .env("XDG_DATA_HOME", self.folder("share"))
            // More threads than free cores make a model many times slower.
            .env("OPENAGENTS_LLAMA_THREADS", "1")
            .env("OPENAGENTS_HOME", self.folder("home"))
            .env("CODEX_HOME", self.folder("codex"))
            .env("CLAUDE_CONFIG_DIR", self.folder("claude"));
    }

    /// Runs `openagents` to its end. It is killed, and this fails, after [`RUN_LIMIT`].
    pub fn run(&self, arguments: &[&str]) -> Result<Output> {
        let mut command = self.openagents(arguments)?;
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let (done, ended) = std::sync::mpsc::channel::<()>();
        let pid = child.id();
        // Another thread kills it, because waiting here also reads what it prints.
        std::thread::spawn(move || {
            if ended.recv_timeout(RUN_LIMIT) == Err(RecvTimeoutError::Timeout) {
                let _ = Command::new("kill").args(["-9", &pid.to_string()]).status();
            }
        });
        let output = child.wait_with_output();
        drop(done);
        Ok(output?)
    }

    /// Explores the workspace and returns the `final` object.
    pub fn explore(&self, arguments: &[&str]) -> Result<Value> {
        let output = self.run(&[&["explore", "--json"], arguments].concat())?;
        let lines = json_lines(&output.stdout)?;
        let last = lines.last().context("explore printed nothing")?;
        ensure!(last.get("final").is_some(), "the last line is not the final one: {last}");
        Ok(last["final"].clone())
    }
}

/// Returns the path of a program that cargo built next to this test.
pub fn program(name: &str) -> Result<PathBuf> {
    let test = std::env::current_exe()?;
    let folder = test.ancestors().nth(2).context("a test lives in target/PROFILE/deps")?;
    let path = folder.join(name);
    if !path.is_file() {
        bail!("{} is missing; `make test` builds it", path.display());
    }
    Ok(path)
}

/// Returns an agent, `custom:deaf`, that ignores SIGTERM and SIGINT and keeps running without us. In the folder of
/// the file `id` it writes its process id to that file, and exits once the file is deleted, whatever happens to the
/// programs that started it.
pub fn deaf_agent(id: &Path) -> Result<Value> {
    // The agent is also started elsewhere, to check whether it works.
    let script = "[ \"$(pwd -P)\" != \"${1%/*}\" ] || echo $$ > \"$1\"; trap '' TERM INT; \"$0\"; \
        while [ -e \"$1\" ]; do sleep 0.1; done";
    let arguments = json!(["-c", script, program("fake-agent")?, id]);
    Ok(json!({"id": "deaf", "name": "Deaf", "kind": "acp", "command": "/bin/sh", "args": arguments}))
}

/// Returns whether the process with this id is running.
pub fn runs(id: &str) -> Result<bool> {
    let state = Command::new("ps").args(["-o", "state=", "-p", id.trim()]).output()?.stdout;
    let state = String::from_utf8(state)?;
    Ok(!state.trim().is_empty() && !state.starts_with('Z'))
}

/// Waits until `done` holds; fails after a minute, which names the test instead of stopping the whole run.
pub fn wait_until(what: &str, done: impl Fn() -> bool) -> Result<()> {
    let begun = std::time::Instant::now();
    while !done() {
        ensure!(begun.elapsed() < Duration::from_secs(60), "{what}: not within a minute");
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

pub fn json_lines(bytes: &[u8]) -> Result<Vec<Value>> {
    let text = std::str::from_utf8(bytes)?;
    text.lines().map(|line| serde_json::from_str(line).with_context(|| line.to_owned())).collect()
}

pub fn codex_rollout(id: &str, prompts: &[&str]) -> Vec<Value> {
    let at = "2025-11-05T10:00:00.000Z";
    let meta = json!({"timestamp": at, "type": "session_meta", "payload": {"id": id, "timestamp": at, "cwd": "WORKSPACE",
        "originator": "codex_cli_rs", "cli_version": "0.98.0", "source": "cli", "git": {"branch": "main"}}});
    let context =
        json!({"timestamp": at, "type": "turn_context", "payload": {"cwd": "WORKSPACE", "model": "gpt-5.5"}});
    let turns = prompts.iter().map(|prompt| {
        json!({"timestamp": at, "type": "event_msg", "payload": {"type": "user_message", "message": prompt}})
    });
    [meta, context].into_iter().chain(turns).collect()
}

pub fn claude_transcript(id: &str, prompt: &str, edited: &[&str]) -> Vec<Value> {
    let line = |number: usize, kind: &str, message: Value| {
        json!({"type": kind, "uuid": format!("{number:08}-0000-4000-8000-000000000000"), "parentUuid": null,
            "sessionId": id, "timestamp": "2025-11-05T10:00:00.000Z", "cwd": "WORKSPACE", "gitBranch": "main",
            "version": "2.1.120", "isSidechain": false, "userType": "external", "message": message})
    };
    let first = line(0, "user", json!({"role": "user", "content": prompt}));
    let edits = edited.iter().enumerate().map(|(number, path)| {
        let input = json!({"file_path": format!("WORKSPACE/{path}"), "old_string": "a", "new_string": "b"});
        let content = json!([{"type": "tool_use", "id": format!("toolu_{number}"), "name": "Edit", "input": input}]);
        let message = json!({"id": format!("msg_{number}"), "role": "assistant", "model": "claude-sonnet-4-5", "content": content});
        line(number + 1, "assistant", message)
    });
    [first].into_iter().chain(edits).collect()
}

/// Returns whether this process is root, which makes file permissions meaningless.
pub fn is_root() -> bool {
    Path::new("/proc/self").metadata().is_ok_and(|it| std::os::unix::fs::MetadataExt::uid(&it) == 0)
}
