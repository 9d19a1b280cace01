//! Workspace trust with the real agents: a folder with every kind of setting that they load, each of which leaves a trace
//! when it runs. The question names all of them, and no trace is there before the user answers.
//!
//! Runs where `OPENAGENTS_PEER_PROGRAMS` names a folder with `claude-agent-acp`, `codex-acp`, `gemini`, `qwen`,
//! `copilot`, `opencode` and `node`. No model is needed: the agents are given an address where nobody answers.

#![cfg(target_os = "linux")]

use anyhow::{Context as _, Result, ensure};
use openagents_e2e::{
    server::{Client, Server},
    terminal::Desk,
};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
};

/// Settings, and what the question says of each. `TOUCH` is a command that leaves a trace, `TRACE` the path of the trace.
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

/// An agent, and settings that it runs once the folder is trusted, so that a missing trace means something.
const AGENTS: &[(&str, &[&str], &[&str])] = &[
    ("claude-code", &["claude", "claude-agent-acp"], &["git"]),
    ("codex", &["codex", "codex-acp"], &[]),
    ("gemini", &["gemini"], &["git"]),
    ("qwen", &["qwen"], &["git"]),
    ("copilot", &["copilot"], &["git"]),
    ("opencode", &["opencode"], &[".opencode/plugin/trace.js", "../../.opencode/plugin/trace.js"]),
];

/// A desk whose workspace, without a repository of its own, has all settings.
struct Stage {
    desk: Desk,
    workspace: PathBuf,
    traces: PathBuf,
}

impl Stage {
    fn new() -> Result<Self> {
        let desk = Desk::new("outer", &[("inner/app/README.md", "# App\n")])?;
        let (workspace, traces) = (desk.workspace.join("inner/app"), desk.folder("traces"));
        fs::create_dir(&traces)?;
        let stage = Self { desk, workspace, traces };
        for (path, text, _) in SETTINGS {
            let file = stage.workspace.join(path);
            fs::create_dir_all(file.parent().context("a file has a folder")?)?;
            fs::write(&file, stage.filled(path, text))?;
        }
        Ok(stage)
    }

    /// Makes the workspace a repository whose `git status` leaves a trace.
    fn with_git(self) -> Result<Self> {
        let git = |arguments: &[&str]| -> Result<()> {
            let status = Command::new("git").args(arguments).current_dir(&self.workspace).status()?;
            ensure!(status.success(), "git {arguments:?}");
            Ok(())
        };
        git(&["init", "-q"])?;
        git(&["config", "core.fsmonitor", &self.filled("git", "TOUCH; false")])?;
        let hook = self.workspace.join(".git/hooks/post-index-change");
        fs::write(&hook, format!("#!/bin/sh\n{}\n", self.filled("git hook", "TOUCH")))?;
        fs::set_permissions(&hook, fs::Permissions::from_mode(0o755))?;
        Ok(self)
    }

    fn trace(&self, setting: &str) -> PathBuf {
        self.traces.join(setting.replace(['/', ' '], "_"))
    }

    fn filled(&self, setting: &str, text: &str) -> String {
        let trace = self.trace(setting).display().to_string();
        text.replace("TOUCH", &format!("touch {trace}")).replace("TRACE", &trace)
    }

    /// Returns the names of the traces that are there.
    fn left(&self) -> Result<BTreeSet<String>> {
        let entries =
            fs::read_dir(&self.traces)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
        entries.collect()
    }

    fn openagents(&self, installed: &Path, arguments: &[&str]) -> Result<Command> {
        let mut command = self.desk.openagents(arguments)?;
        let node = fs::canonicalize(installed.join("node"))?;
        let node = node.parent().context("node is in a folder")?;
        let path = std::env::join_paths([node, installed, Path::new("/usr/bin"), Path::new("/bin")])?;
        for name in ["CONFIG", "DATA", "CACHE", "STATE"] {
            command.env(format!("XDG_{name}_HOME"), self.desk.folder(&format!("xdg/{name}")));
        }
        let nowhere = "http://127.0.0.1:9/v1";
        command
            .current_dir(&self.workspace)
            .env("PATH", &path)
            .env("OPENAGENTS_AGENT_PATH", &path)
            .env("ANTHROPIC_BASE_URL", nowhere)
            .env("ANTHROPIC_API_KEY", "sk-ant-nobody")
            .env("OPENAI_API_KEY", "nobody")
            .env("OPENAI_MODEL", "nobody")
            .env("GEMINI_API_KEY", "nobody")
            .env("COPILOT_PROVIDER_BASE_URL", nowhere)
            .env("COPILOT_PROVIDER_API_KEY", "nobody")
            .env("COPILOT_MODEL", "nobody")
            .env("COPILOT_OFFLINE", "true")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("DISABLE_TELEMETRY", "1")
            .env("DISABLE_AUTOUPDATER", "1");
        Ok(command)
    }
}

/// Returns the folder with the programs; `None` if there is none here.
fn installed() -> Option<PathBuf> {
    let installed = std::env::var_os("OPENAGENTS_PEER_PROGRAMS").map(PathBuf::from);
    if installed.is_none() {
        eprintln!("skipped: OPENAGENTS_PEER_PROGRAMS names no folder with agents");
    }
    installed
}

async fn ask(client: &mut Client, stage: &Stage, agent: &str) -> Result<(Value, u64)> {
    let new = json!({"cwd": stage.workspace, "mcpServers": [], "_meta": {"openagents": {"open": true}}});
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

#[tokio::test]
async fn no_agent_runs_a_setting_of_a_folder_that_is_not_trusted() -> Result<()> {
    let Some(installed) = installed() else { return Ok(()) };
    for is_repository in [true, false] {
        for (agent, programs, runs) in AGENTS {
            if !programs.iter().all(|program| installed.join(program).exists()) {
                eprintln!("skipped: {agent} is not installed");
                continue;
            }
            let stage = Stage::new()?;
            let stage = if is_repository { stage.with_git()? } else { stage };
            let server = Server::start(stage.openagents(&installed, &["serve", "--port", "0", "--json"])?)?;
            let mut client = server.connect().await?;
            let (request, id) = ask(&mut client, &stage, agent).await?;
            let told = request["params"]["toolCall"]["content"][0]["content"]["text"]
                .as_str()
                .context("the question")?;
            for (path, _, expected) in SETTINGS {
                let expected = stage.filled(path, expected);
                ensure!(told.contains(&expected), "{agent}: {expected} of {path} in\n{told}");
            }
            for expected in ["core.fsmonitor: touch ", "hooks/post-index-change"] {
                assert_eq!(told.contains(expected), is_repository, "{agent}: {expected} in\n{told}");
            }
            for arguments in [&["doctor", "--json"][..], &["agents", "list"], &["explore", "--json"]] {
                stage.openagents(&installed, arguments)?.output()?;
            }
            assert_eq!(stage.left()?, BTreeSet::new(), "{agent}: it ran before the folder was trusted");

            let chosen = json!({"outcome": {"outcome": "selected", "optionId": "trust"}});
            client.respond(&request["id"], chosen).await?;
            client.until("the end of the turn", |frame| frame["id"] == id).await?;
            let left = stage.left()?;
            eprintln!("{agent}, repository {is_repository}: ran {left:?}");
            for setting in runs.iter().filter(|setting| **setting != "git" || is_repository) {
                assert!(
                    stage.trace(setting).exists(),
                    "{agent}: {setting} of a trusted folder runs; ran {left:?}"
                );
            }
        }
    }
    Ok(())
}
