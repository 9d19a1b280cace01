//! Workspace trust over the real programs: `openagents workspaces`, an editor over `openagents acp`, and an agent that
//! runs the hooks of the folder that it starts in, as Claude Code does.

use anyhow::{Context, Result, ensure};
use openagents_core::visible::escaped;
use openagents_e2e::{
    hostile,
    openai::scripted,
    pseudo_terminal::PseudoTerminal,
    server::{Client, Server},
    terminal::{TestEnv, claude_transcript, codex_rollout},
};
use serde_json::{Value, json};
use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

/// The program with which Claude Code speaks ACP. It runs the folder's first hook before it answers.
const CLAUDE: &str = r#"#!/bin/sh
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
while read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
    case "$line" in
    *'"initialize"'*) answer '{"protocolVersion":1,"agentCapabilities":{}}' ;;
    *'"session/new"'*) answer '{"sessionId":"c-1","modes":{"currentModeId":"default","availableModes":[{"id":"default","name":"Default"}]}}' ;;
    *'"session/prompt"'*)
        hook=$(sed -n 's/.*"command": *"\([^"]*\)".*/\1/p' .claude/settings.json 2>/dev/null | head -1)
        [ -z "$hook" ] || sh -c "$hook"
        echo '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"c-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Claude was here."}}}}'
        answer '{"stopReason":"end_turn"}' ;;
    *) [ -z "$id" ] || answer '{}' ;;
    esac
done
"#;

/// A `TestEnv` with that program installed, and a workspace with a hook that writes a file.
struct Stage {
    env: TestEnv,
    canary: PathBuf,
}

impl Stage {
    fn new() -> Result<Self> {
        let env = TestEnv::new("proj", &[("README.md", "# Proj\n\nA small project.\n")])?;
        let canary = env.folder("canary");
        let stage = Self { env, canary };
        stage.hook("")?;
        let bin = stage.env.folder("bin");
        fs::create_dir(&bin)?;
        fs::write(bin.join("claude-agent-acp"), CLAUDE)?;
        fs::set_permissions(bin.join("claude-agent-acp"), fs::Permissions::from_mode(0o755))?;
        Ok(stage)
    }

    fn hook(&self, comment: &str) -> Result<()> {
        let command = format!("touch {} # {comment}", self.canary.display());
        let hook = json!([{"hooks": [{"type": "command", "command": command}]}]);
        let folder = self.env.workspace.join(".claude");
        fs::create_dir_all(&folder)?;
        Ok(fs::write(folder.join("settings.json"), json!({"hooks": {"SessionStart": hook}}).to_string())?)
    }

    fn openagents(&self, arguments: &[&str]) -> Result<std::process::Command> {
        let mut command = self.env.openagents(arguments)?;
        command.env("OPENAGENTS_AGENT_PATH", format!("{}:/usr/bin:/bin", self.env.folder("bin").display()));
        Ok(command)
    }

    fn run(&self, arguments: &[&str]) -> Result<String> {
        let output = self.openagents(arguments)?.output()?;
        ensure!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        Ok(String::from_utf8(output.stdout)?)
    }

    fn serve(&self) -> Result<Server> {
        Server::start(self.openagents(&["serve", "--port", "0", "--json"])?)
    }

    fn folder(&self) -> &str {
        self.env.workspace.to_str().unwrap_or_default()
    }
}

async fn session(client: &mut Client, folder: &Path) -> Result<Value> {
    let new = json!({"cwd": folder, "mcpServers": [], "_meta": {"openagents": {"open": true}}});
    let session = client.request("session/new", new).await?["sessionId"].clone();
    client.request("session/set_mode", json!({"sessionId": session, "modeId": "claude-code"})).await?;
    Ok(session)
}

async fn prompt(client: &mut Client, session: &Value) -> Result<u64> {
    let content = json!([{"type": "text", "text": "Fix it"}]);
    client.send("session/prompt", json!({"sessionId": session, "prompt": content})).await
}

fn asks(frame: &Value) -> bool {
    frame["method"] == "session/request_permission"
}

#[tokio::test]
async fn hooks_run_only_after_trust() -> Result<()> {
    let stage = Stage::new()?;
    let server = stage.serve()?;
    let mut editor = server.connect().await?;
    stage.run(&["explore", "--json"])?;
    stage.run(&["ask", "How is the project described?", "--json"])?;
    stage.run(&["doctor", "--json"])?;
    let session = session(&mut editor, &stage.env.workspace).await?;
    let id = prompt(&mut editor, &session).await?;
    let request = editor.until("the question", asks).await?;
    let call = &request["params"]["toolCall"];
    let report = call["content"][0]["content"]["text"].as_str().context("the question")?;
    let claude = stage.env.folder("bin").join("claude-agent-acp");
    ensure!(
        report.contains(&format!("Claude Code ({}) starts in {}", claude.display(), stage.folder())),
        "{report}"
    );
    ensure!(report.contains("hooks.SessionStart.hooks.command: touch "), "{report}");
    assert!(!stage.canary.exists(), "a hook has run before the folder was trusted");

    // The command line answers instead of the desktop, and prints the same.
    let trusted = stage.run(&["workspaces", "trust", ".", "--yes"])?;
    ensure!(
        trusted.contains(&format!("Trusted  {}", stage.folder())) && trusted.contains("hooks.SessionStart"),
        "{trusted}"
    );
    editor.until("the end of the turn", |frame| frame["id"] == id).await?;
    assert!(stage.canary.exists(), "the hook of a trusted folder runs, as in a terminal");
    let listed = stage.run(&["workspaces", "list"])?;
    ensure!(listed.contains(stage.folder()), "{listed}");
    let listed: Value = serde_json::from_str(&stage.run(&["workspaces", "list", "--json"])?)?;
    assert_eq!(listed["workspaces"][0]["path"], stage.folder());

    fs::remove_file(&stage.canary)?;
    stage.hook("changed")?;
    let id = prompt(&mut editor, &session).await?;
    let request = editor.until("the question", asks).await?;
    assert!(!stage.canary.exists(), "a changed hook has run before it was seen");
    let chosen = json!({"outcome": {"outcome": "selected", "optionId": "not-now"}});
    editor.respond(&request["id"], chosen).await?;
    let end = editor.until("the end of the turn", |frame| frame["id"] == id).await?;
    assert_eq!(end["result"]["_meta"]["openagents"]["state"], "failed");
    assert!(!stage.canary.exists());

    stage.run(&["workspaces", "trust", stage.folder(), "--yes"])?;
    stage.run(&["workspaces", "revoke", stage.folder()])?;
    let id = prompt(&mut editor, &session).await?;
    let request = editor.until("the question", asks).await?;
    let chosen = json!({"outcome": {"outcome": "selected", "optionId": "trust"}});
    editor.respond(&request["id"], chosen).await?;
    editor.until("the end of the turn", |frame| frame["id"] == id).await?;
    assert!(stage.canary.exists());
    Ok(())
}

/// Explores, searches and asks on the command line: nothing in the repository runs, and
/// nothing is shown as something else.
#[test]
fn hostile_repository_runs_and_prints_nothing() -> Result<()> {
    let stage = Stage::new()?;
    fs::remove_dir_all(stage.env.workspace.join(".claude"))?;
    hostile::write_repository(&stage.env.workspace, &stage.canary)?;
    let id = |number: usize| format!("0199a2b4-1111-7000-8000-00000000000{number}");
    let codex = "codex/sessions/2025/11/05/rollout-2025-11-05T10-00-00";
    for number in 0..2 {
        let log = codex_rollout(&id(number), &[hostile::TEXT, "How does the parser work?"]);
        stage.env.log(&format!("{codex}-{}.jsonl", id(number)), &log)?;
    }
    let edited: Vec<String> =
        hostile::names().into_iter().filter_map(|name| String::from_utf8(name).ok()).collect();
    let edited: Vec<&str> = edited.iter().map(String::as_str).collect();
    stage.env.log("claude/projects/proj/c.jsonl", &claude_transcript("c", hostile::TEXT, &edited))?;
    let server = stage.serve()?;
    let folder = stage.folder();
    for arguments in [
        &["explore"][..],
        &["explore", "--goal", hostile::TEXT],
        &["find", "parser"],
        &["find", "Where is the parser?"],
        &["ask", "How does the parser work?"],
        &["ask", "What did I work on last?"],
        &["ask", hostile::TEXT],
        &["sessions", "list"],
        &["sessions", "search", "parser"],
        &["tool", "fs.list_dir"],
        &["tool", "search.grep", "{\"pattern\":\"parser\"}"],
        &["workspaces", "trust", folder],
        &["workspaces", "list"],
    ] {
        let output = stage.openagents(arguments)?.stdin(std::process::Stdio::null()).output()?;
        for report in [&output.stdout, &output.stderr] {
            let report = std::str::from_utf8(report).with_context(|| format!("{arguments:?}"))?;
            assert_eq!(report, escaped(report), "{arguments:?}");
        }
        assert!(!output.stdout.is_empty() || arguments[0] == "workspaces", "{arguments:?}: {output:?}");
    }
    // The JSON output for programs, whatever the names are.
    for arguments in [
        &["explore", "--json"][..],
        &["find", "parser", "--json"],
        &["ask", "How does the parser work?", "--json"],
    ] {
        let report = stage.run(arguments)?;
        let mut values = serde_json::Deserializer::from_str(&report).into_iter::<Value>();
        assert!(values.all(|value| value.is_ok()), "{report}");
        assert!(report.contains("parser"), "{report}");
        assert_eq!(report, escaped(&report), "{arguments:?}");
    }
    drop(server);
    assert!(!stage.canary.exists() && !stage.env.workspace.join("x").exists());
    Ok(())
}

#[tokio::test]
async fn terminal_asks_for_trust_in_place() -> Result<()> {
    let stage = Stage::new()?;
    let server = stage.serve()?;
    let mut client = server.connect().await?;
    let session = session(&mut client, &stage.env.workspace).await?;
    prompt(&mut client, &session).await?;
    let mut terminal = PseudoTerminal::start(stage.openagents(&["attach"])?)?;
    let at = terminal.until("Trust this folder?", 0)?;
    let at = terminal.until("Claude Code (", at)?;
    let at = terminal.until("hooks.SessionStart.hooks.command: touch ", at)?;
    let at = terminal.until("1  Trust", at)?;
    let at = terminal.until("2  Not now", at)?;
    assert!(!stage.canary.exists());
    terminal.type_line("1")?;
    let at = terminal.until("Trust, answered on openagents-cli", at)?;
    terminal.until("Claude was here.", at)?;
    assert!(stage.canary.exists());
    Ok(())
}

/// A model of `openagents agent` delegates: the user at the terminal decides, and without one nothing starts.
#[tokio::test]
async fn delegate_command_asks_for_trust_first() -> Result<()> {
    let (stage, model) = (Stage::new()?, scripted()?);
    let server = stage.serve()?;
    let mut client = server.connect().await?;
    let settings = json!({"allowExternalLlms": true});
    client.request("_openagents/agents/configure", json!({"settings": settings})).await?;
    let prompt = "call delegate.run {\"provider\":\"claude-code\",\"user_prompt\":\"Fix it\"}";
    let address = model.base_url();
    let arguments = ["agent", prompt, "--model", "openai:scripted", "--base-url", &address];

    let output = stage.openagents(&arguments)?.stdin(std::process::Stdio::null()).output()?;
    let report = String::from_utf8(output.stderr)?;
    assert!(report.contains(&format!("`openagents workspaces trust {}`", stage.folder())), "{report}");
    assert!(!output.status.success() && !stage.canary.exists());

    for (answer, started) in [("n", false), ("y", true)] {
        let mut terminal = PseudoTerminal::start(stage.openagents(&arguments)?)?;
        // Input typed before the question is not an answer.
        terminal.type_line("y")?;
        let at = terminal.until("hooks.SessionStart.hooks.command: touch ", 0)?;
        let at = terminal.until("Trust it? [y/N]", at)?;
        terminal.type_line(answer)?;
        terminal.until("The tool said: ", at)?;
        terminal.end()?;
        assert_eq!(stage.canary.exists(), started, "{}", terminal.screen);
    }
    Ok(())
}

#[test]
fn trust_shows_settings_and_confirms() -> Result<()> {
    let stage = Stage::new()?;
    let trusted = || -> Result<bool> { Ok(stage.run(&["workspaces", "list"])?.contains(stage.folder())) };
    let mut unattended = stage.openagents(&["workspaces", "trust", "."])?;
    let output = unattended.stdin(std::process::Stdio::null()).output()?;
    let why = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && why.contains("--yes") && !trusted()?, "{why}");
    for (answer, expected) in [("n", false), ("y", true)] {
        let mut terminal = PseudoTerminal::start(stage.openagents(&["workspaces", "trust", "."])?)?;
        terminal.type_line("y")?;
        let at = terminal.until("hooks.SessionStart.hooks.command: touch ", 0)?;
        terminal.until("[y/N]", at)?;
        terminal.type_line(answer)?;
        assert_eq!(terminal.end()?.success(), expected);
        assert_eq!(trusted()?, expected);
    }
    Ok(())
}

#[test]
fn trust_refuses_folder_with_reason() -> Result<()> {
    let stage = Stage::new()?;
    let refused = |arguments: &[&str]| -> Result<String> {
        let output = stage.openagents(arguments)?.output()?;
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        Ok(String::from_utf8_lossy(&output.stderr).into_owned())
    };
    assert!(refused(&["workspaces", "trust", "/"])?.contains("too wide"));
    let home = stage.env.folder("");
    assert!(refused(&["workspaces", "trust", home.to_str().context("UTF-8")?])?.contains("too wide"));
    assert!(refused(&["workspaces", "trust", "missing"])?.contains("missing"));
    std::os::unix::fs::symlink("../outside", stage.env.workspace.join(".codex"))?;
    assert!(refused(&["workspaces", "trust", ".", "--yes"])?.contains("cannot be trusted"));
    assert!(refused(&["workspaces", "revoke", "."])?.contains("is not trusted"));
    Ok(())
}

/// A custom agent may start in any folder, whose settings it loads.
#[tokio::test]
async fn custom_agent_folder_needs_trust() -> Result<()> {
    let stage = Stage::new()?;
    let elsewhere = stage.env.folder("elsewhere");
    fs::create_dir(&elsewhere)?;
    let hook = json!({"hooks": {"Stop": [{"hooks": [{"command": "curl evil"}]}]}});
    fs::create_dir(elsewhere.join(".claude"))?;
    fs::write(elsewhere.join(".claude/settings.json"), hook.to_string())?;
    let fake = openagents_e2e::terminal::program("fake-agent")?;
    let folder = elsewhere.canonicalize()?;
    let (fake, own) = (fake.to_str().context("UTF-8")?, folder.to_str().context("UTF-8")?);
    stage.run(&["agents", "add", "fake", "--cwd", own, "--", fake])?;
    stage.run(&["workspaces", "trust", ".", "--yes"])?;
    let server = stage.serve()?;
    let mut editor = server.connect().await?;
    let new = json!({"cwd": stage.env.workspace, "mcpServers": [], "_meta": {"openagents": {"open": true}}});
    let session = editor.request("session/new", new).await?["sessionId"].clone();
    editor.request("session/set_mode", json!({"sessionId": session, "modeId": "custom:fake"})).await?;
    let id = prompt(&mut editor, &session).await?;
    let request = editor.until("the question, or the end", |frame| asks(frame) || frame["id"] == id).await?;
    ensure!(asks(&request), "it started without a question: {request}");
    let report =
        request["params"]["toolCall"]["content"][0]["content"]["text"].as_str().context("the question")?;
    ensure!(report.contains(own) && report.contains("curl evil"), "{report}");
    let chosen = json!({"outcome": {"outcome": "selected", "optionId": "trust"}});
    editor.respond(&request["id"], chosen).await?;
    let end = editor.until("the end of the turn", |frame| frame["id"] == id).await?;
    assert_eq!(end["result"]["_meta"]["openagents"]["state"], "complete");
    ensure!(stage.run(&["workspaces", "list"])?.contains(own));

    // Once the settings have changed, it asks again; and checking an agent never starts it there.
    fs::write(elsewhere.join(".claude/settings.json"), hook.to_string().replace("curl", "wget"))?;
    let id = prompt(&mut editor, &session).await?;
    let request = editor.until("the question, or the end", |frame| asks(frame) || frame["id"] == id).await?;
    ensure!(asks(&request), "it started without a question: {request}");
    Ok(())
}
