//! Workspace trust with the real agents: a folder with every kind of setting that they load, each of which leaves a
//! trace when it runs. The question names all of them, and there is no trace before the user answers.
//!
//! `scripts/peers.sh` installs the agents; a scripted model server answers them.

use anyhow::{Context as _, Result, ensure};
use openagents_e2e::{peers::Peers, server::Client, terminal::TestEnv};
use serde_json::{Value, json};
use std::{
    cell::RefCell,
    collections::BTreeSet,
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

/// Settings, and the text of the question for each. `TOUCH` is a command that leaves a
/// trace, `TRACE` the path of the trace.
const SETTINGS: &[(&str, &str, &str)] = &[
    (
        ".claude/settings.json",
        r#"{"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "TOUCH"}]}]}, "enableAllProjectMcpServers": true}"#,
        "hooks.SessionStart.hooks.command: TOUCH",
    ),
    (
        ".claude/skills/build/SKILL.md",
        "---\nname: build\ndescription: Builds\n---\nState: !`TOUCH`\n",
        "skills/build/SKILL.md: State: !`TOUCH`",
    ),
    (
        ".mcp.json",
        r#"{"mcpServers": {"a": {"command": "sh", "args": ["-c", "TOUCH"]}}}"#,
        "mcpServers.a.command: sh -c 'TOUCH'",
    ),
    (
        ".codex/config.toml",
        "notify = ['sh', '-c', 'TOUCH']\n[mcp_servers.a]\ncommand = 'sh'\nargs = ['-c', 'TOUCH']\n",
        "config.toml: notify: sh -c 'TOUCH'",
    ),
    (
        ".codex/hooks.json",
        r#"{"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "TOUCH"}]}]}}"#,
        "hooks.json: hooks.SessionStart.hooks.command: TOUCH",
    ),
    (
        ".gemini/settings.json",
        r#"{"mcpServers": {"a": {"command": "sh", "args": ["-c", "TOUCH"]}}, "hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "TOUCH"}]}]}}"#,
        "settings.json: mcpServers.a.command: sh -c 'TOUCH'",
    ),
    (
        ".qwen/settings.json",
        r#"{"mcpServers": {"a": {"command": "sh", "args": ["-c", "TOUCH"]}}, "hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "TOUCH"}]}]}}"#,
        "settings.json: mcpServers.a.command: sh -c 'TOUCH'",
    ),
    (".lsp.json", r#"{"a": {"command": "sh", "args": ["-c", "TOUCH"]}}"#, "a.command: sh -c 'TOUCH'"),
    (
        ".github/hooks/a.json",
        r#"{"version": 1, "hooks": {"sessionStart": [{"type": "command", "bash": "TOUCH"}]}}"#,
        "a.json: hooks.sessionStart.bash: TOUCH",
    ),
    (
        ".github/mcp.json",
        r#"{"mcpServers": {"a": {"command": "sh", "args": ["-c", "TOUCH"], "tools": ["*"]}}}"#,
        "mcpServers.a.command: sh -c 'TOUCH'",
    ),
    (
        ".github/lsp.json",
        r#"{"lspServers": {"a": {"command": "sh", "args": ["-c", "TOUCH"], "fileExtensions": {".md": "markdown"}}}}"#,
        "lspServers.a.command: sh -c 'TOUCH'",
    ),
    (
        "lsp.json",
        r#"{"lspServers": {"b": {"command": "sh", "args": ["-c", "TOUCH"], "fileExtensions": {".md": "markdown"}}}}"#,
        "lspServers.b.command: sh -c 'TOUCH'",
    ),
    (
        ".github/extensions/trace/extension.mjs",
        "import { writeFileSync } from 'node:fs';\nwriteFileSync('TRACE', '');\n",
        "trace/extension.mjs",
    ),
    (
        ".opencode/plugin/trace.js",
        "import { writeFileSync } from 'node:fs';\nwriteFileSync('TRACE', '');\nexport const Trace = async () => ({});\n",
        "plugin/trace.js",
    ),
    (
        "opencode.json",
        r#"{"mcp": {"a": {"type": "local", "command": ["sh", "-c", "TOUCH"]}}}"#,
        "mcp.a.command: sh -c 'TOUCH'",
    ),
    (
        ".cursor/hooks.json",
        r#"{"version": 1, "hooks": {"sessionStart": [{"command": "TOUCH"}]}}"#,
        "hooks.json: hooks.sessionStart.command: TOUCH",
    ),
    (
        ".cursor/mcp.json",
        r#"{"mcpServers": {"a": {"command": "sh", "args": ["-c", "TOUCH"]}}}"#,
        "mcp.json: mcpServers.a.command: sh -c 'TOUCH'",
    ),
    (".pi/extensions/trace.ts", "require('node:fs').writeFileSync('TRACE', '');\n", "extensions/trace.ts"),
    (
        ".agents/plugins/a/hooks/hooks.json",
        r#"{"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "TOUCH"}]}]}}"#,
        "plugins/a/hooks/hooks.json: hooks.SessionStart.hooks.command: TOUCH",
    ),
    ("bunfig.toml", "preload = ['./trace.js']\n", "preload: ./trace.js"),
    (
        ".npmrc",
        "registry=http://127.0.0.1:9/\nnode-options=--require=./trace.cjs\n",
        "node-options: --require=./trace.cjs",
    ),
    (
        "../.env",
        "GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:9/redirected\nOPENAI_BASE_URL=http://127.0.0.1:9/redirected\n",
        "GOOGLE_GEMINI_BASE_URL: http://127.0.0.1:9/redirected",
    ),
    (
        "../../.opencode/plugin/trace.js",
        "import { writeFileSync } from 'node:fs';\nwriteFileSync('TRACE', '');\nexport const Trace = async () => ({});\n",
        "plugin/trace.js",
    ),
    ("AGENTS.md", "Be kind.\n", "- AGENTS.md"),
];

/// An agent, and settings that it runs once the folder is trusted. Without these, a missing trace would prove nothing.
const AGENTS: &[(&str, &[&str])] = &[
    ("claude-code", &[".claude/settings.json", ".mcp.json"]),
    ("codex", &[]),
    ("gemini", &[".gemini/settings.json"]),
    ("qwen", &[".qwen/settings.json"]),
    ("copilot", &[".github/hooks/a.json"]),
    ("opencode", &[".opencode/plugin/trace.js", "opencode.json"]),
];

/// Real agents in a workspace with all settings.
struct Stage {
    peers: Peers,
    traces: PathBuf,
}

impl Stage {
    /// With `is_repository`, the workspace is a repository whose `git status` leaves a trace.
    fn new(is_repository: bool) -> Result<Self> {
        let mut env = TestEnv::new("outer", &[("inner/app/README.md", "# App\n")])?;
        env.workspace = env.workspace.join("inner/app");
        let traces = env.folder("traces");
        fs::create_dir(&traces)?;
        for (path, text, _) in SETTINGS {
            let file = env.workspace.join(path);
            fs::create_dir_all(file.parent().context("a file has a folder")?)?;
            fs::write(&file, filled(&traces, path, text))?;
        }
        let stage = Self { peers: Peers::with_programs(env, &[], "done")?, traces };
        let git = stage.workspace().join(".git");
        if !is_repository {
            fs::remove_dir_all(git)?;
            return Ok(stage);
        }
        let hook = git.join("hooks/post-index-change");
        fs::write(&hook, format!("#!/bin/sh\n{}\n", filled(&stage.traces, "git hook", "TOUCH")))?;
        fs::set_permissions(&hook, fs::Permissions::from_mode(0o755))?;
        let monitor = filled(&stage.traces, "git", "TOUCH; false");
        let status = Command::new("git")
            .args(["config", "core.fsmonitor", &monitor])
            .current_dir(stage.workspace())
            .status()?;
        ensure!(status.success(), "git config");
        Ok(stage)
    }

    fn workspace(&self) -> &Path {
        &self.peers.env.workspace
    }

    /// Returns the names of the traces found.
    fn left(&self) -> Result<BTreeSet<String>> {
        let entries =
            fs::read_dir(&self.traces)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
        entries.collect()
    }
}

fn trace(traces: &Path, setting: &str) -> PathBuf {
    traces.join(setting.replace(['/', ' '], "_"))
}

fn filled(traces: &Path, setting: &str, text: &str) -> String {
    let trace = trace(traces, setting).display().to_string();
    text.replace("TOUCH", &format!("touch {trace}")).replace("TRACE", &trace)
}

async fn ask(client: &mut Client, stage: &Stage, agent: &str) -> Result<(Value, u64)> {
    // An agent is offered once it has been found.
    loop {
        let agents = client.request("_openagents/agents/list", json!({})).await?;
        let cards = agents["agents"].as_array().context("agents")?;
        if cards.iter().any(|card| card["id"] == agent && card["usable"] == true) {
            break;
        }
        ensure!(
            agents["checking"] == true || agents["checkedAt"].is_null(),
            "{agent} is not found: {agents}"
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let new = json!({"cwd": stage.workspace(), "mcpServers": [], "_meta": {"openagents": {"open": true}}});
    let session = client.request("session/new", new).await?["sessionId"].clone();
    client.request("session/set_mode", json!({"sessionId": session, "modeId": agent})).await?;
    let prompt = json!([{"type": "text", "text": "Hello"}]);
    let id = client.send("session/prompt", json!({"sessionId": session, "prompt": prompt})).await?;
    let asks = |frame: &Value| frame["method"] == "session/request_permission" || frame["id"] == id;
    let request = client.until("the question", asks).await?;
    ensure!(
        request["method"] == "session/request_permission",
        "{agent} started without a question: {request}"
    );
    Ok((request, id))
}

async fn settings_do_not_run(agent: &str) -> Result<()> {
    let (_, runs) = AGENTS.iter().find(|(name, _)| *name == agent).context("an agent")?;
    for is_repository in [true, false] {
        let stage = Stage::new(is_repository)?;
        let mut client = stage.peers.server.connect().await?;
        let (request, id) = ask(&mut client, &stage, agent).await?;
        let shown = &request["params"]["toolCall"]["content"][0]["content"]["text"];
        let shown = shown.as_str().context("the question")?;
        for (path, _, expected) in SETTINGS {
            let expected = filled(&stage.traces, path, expected);
            ensure!(shown.contains(&expected), "{agent}: {expected} of {path} in\n{shown}");
        }
        for expected in ["core.fsmonitor: touch ", "hooks/post-index-change"] {
            assert_eq!(shown.contains(expected), is_repository, "{agent}: {expected} in\n{shown}");
        }
        stage.peers.run(&["agents", "list"])?;
        assert_eq!(stage.left()?, BTreeSet::new(), "{agent}: it ran before the folder was trusted");

        let chosen = json!({"outcome": {"outcome": "selected", "optionId": "trust"}});
        client.respond(&request["id"], chosen).await?;
        let reply = RefCell::new(String::new());
        let is_end = |frame: &Value| {
            let text = &frame["params"]["update"]["content"]["text"];
            reply.borrow_mut().push_str(text.as_str().unwrap_or_default());
            frame["id"] == id
        };
        client.until("the end of the turn", is_end).await?;
        let (left, reply) = (stage.left()?, reply.into_inner());
        // Without this check, a missing trace would prove nothing.
        for setting in *runs {
            let is_there = trace(&stage.traces, setting).exists();
            ensure!(is_there, "{agent}: {setting} of a trusted folder runs; ran {left:?}, said {reply}");
        }
        stage.peers.end()?;
    }
    Ok(())
}

mod untrusted_folder_settings_do_not_run {
    macro_rules! of_each {
        ($($name:ident: $agent:literal),*) => {
            $(#[tokio::test] async fn $name() -> anyhow::Result<()> { super::settings_do_not_run($agent).await })*
        };
    }

    of_each!(
        claude_code: "claude-code", codex: "codex", gemini: "gemini", qwen: "qwen", copilot: "copilot",
        opencode: "opencode"
    );
}
