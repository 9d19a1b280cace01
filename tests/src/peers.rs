//! The real coding agents, and a model server that answers from a script instead of a model.
//!
//! The settings that make each agent use that server, and nothing else:
//!
//! | agent | files | variables |
//! |---|---|---|
//! | Codex | `$CODEX_HOME/config.toml` | |
//! | Claude Code | `$CLAUDE_CONFIG_DIR/settings.json` | `ANTHROPIC_BASE_URL`, `ANTHROPIC_API_KEY` |
//! | Gemini CLI | `~/.gemini/settings.json` | `GOOGLE_GEMINI_BASE_URL`, `GEMINI_API_KEY` |
//! | Qwen Code | `~/.qwen/settings.json` | `OPENAI_BASE_URL`, `OPENAI_API_KEY`, `OPENAI_MODEL` |
//! | GitHub Copilot | | `COPILOT_OFFLINE`, `COPILOT_PROVIDER_BASE_URL`, `COPILOT_MODEL` (`copilot help providers`) |
//! | opencode | `$XDG_CONFIG_HOME/opencode/opencode.json` | |

use crate::{
    pseudo_terminal::PseudoTerminal,
    server::Server,
    terminal::{TestEnv, program},
};
use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use std::{
    ffi::OsString,
    fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// The variable with the folder of the model server.
const PEERS: &str = "OPENAGENTS_PEERS";
/// The variable with the folder of the programs: `codex`, `codex-acp`, …
const PROGRAMS: &str = "OPENAGENTS_PEER_PROGRAMS";

/// The folder of opencode's settings in a `TestEnv`.
const OPENCODE: &str = "xdg/CONFIG/opencode";

/// Limit of every wait; longer means a hang.
const HANGS: Duration = Duration::from_secs(60);

/// A `TestEnv` with the real agents installed and a scripted model.
#[derive(Debug)]
pub struct Installed {
    /// The workspace, a Git repository.
    pub env: TestEnv,
    model: ScriptedModel,
}

impl Installed {
    /// Starts the model. `script` is the name of a script of the model server, or a file.
    pub fn with_script(env: TestEnv, script: &str) -> Result<Self> {
        let model = ScriptedModel::start(script, env.folder("requests"))?;
        configure(&env, model.port)?;
        Ok(Self { env, model })
    }

    /// Runs one shell command line to its end in the workspace and returns its output.
    pub fn shell(&self, line: &str) -> Result<String> {
        self.output(Command::new("sh").args(["-c", line]), line)
    }

    /// Runs `openagents` to its end and returns its output.
    pub fn openagents(&self, arguments: &[&str]) -> Result<String> {
        self.output(Command::new(program("openagents")?).args(arguments), &arguments.join(" "))
    }

    fn output(&self, command: &mut Command, what: &str) -> Result<String> {
        command.stdin(Stdio::null());
        self.env.surround(command);
        surround(command, &self.env, &self.model, &[])?;
        let output = command.output()?;
        ensure!(output.status.success(), "{what}: {}", String::from_utf8_lossy(&output.stderr));
        Ok(String::from_utf8(output.stdout)?)
    }
}

/// A server of ours in a `TestEnv` with the real agents installed and a scripted model.
#[derive(Debug)]
pub struct Peers {
    /// The workspace, a Git repository.
    pub env: TestEnv,
    model: ScriptedModel,
    pub server: Server,
    programs: Vec<String>,
}

impl Peers {
    /// Starts both servers. `programs` lists the installed programs; if it is empty, all of them are.
    pub fn start(programs: &[&str]) -> Result<Self> {
        let env = TestEnv::new("project", &[("README.md", "# Sample\n\nA small folder.\n")])?;
        Self::with_programs(env, programs, "done")
    }

    /// Does the same on the caller's env, with a script of the model server: its name, or a file.
    pub fn with_programs(env: TestEnv, programs: &[&str], script: &str) -> Result<Self> {
        let Installed { env, model } = Installed::with_script(env, script)?;
        let server = serve(&env, &model, programs, "home")?;
        let programs = programs.iter().map(|&program| program.to_owned()).collect();
        Ok(Self { env, model, server, programs })
    }

    /// Stops our server as the user does, and starts another one with the data folder of this name.
    pub fn restart(&mut self, home: &str) -> Result<()> {
        self.stop()?;
        let programs: Vec<&str> = self.programs.iter().map(String::as_str).collect();
        self.server = serve(&self.env, &self.model, &programs, home)?;
        Ok(())
    }

    fn stop(&mut self) -> Result<()> {
        self.server.signal("-TERM")?;
        let status = self.server.child.wait()?;
        ensure!(status.success(), "the server ended with {status}");
        Ok(())
    }

    /// Runs `openagents` to its end in the same environment and returns its output.
    pub fn run(&self, arguments: &[&str]) -> Result<String> {
        let mut command = self.env.openagents(arguments)?;
        surround(&mut command, &self.env, &self.model, &[])?;
        let output = command.output()?;
        ensure!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        Ok(String::from_utf8(output.stdout)?)
    }

    /// Runs one shell command line to its end in the workspace, such as an agent's own command.
    pub fn shell(&self, line: &str) -> Result<String> {
        let output = self.command(line)?.stdin(Stdio::null()).output()?;
        ensure!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        Ok(String::from_utf8(output.stdout)?)
    }

    /// Starts one shell command line in the workspace, in a terminal.
    pub fn in_terminal(&self, line: &str) -> Result<PseudoTerminal> {
        PseudoTerminal::start(self.command(line)?)
    }

    /// Returns one shell command line that runs in the workspace.
    pub fn command(&self, line: &str) -> Result<Command> {
        let mut command = Command::new("sh");
        command.args(["-c", line]);
        self.env.surround(&mut command);
        surround(&mut command, &self.env, &self.model, &[])?;
        Ok(command)
    }

    /// Returns whether a request to the model contains a text.
    pub fn model_got(&self, text: &str) -> Result<bool> {
        Ok(self.model_requests()?.iter().any(|request| request.contains(text)))
    }

    /// Returns the requests to the model, in no order.
    pub fn model_requests(&self) -> Result<Vec<String>> {
        let read = |entry: std::io::Result<fs::DirEntry>| {
            Ok(String::from_utf8_lossy(&fs::read(entry?.path())?).into_owned())
        };
        fs::read_dir(&self.model.requests)?.map(read).collect()
    }

    /// Deletes the requests so far.
    pub fn forget_model_requests(&self) -> Result<()> {
        fs::read_dir(&self.model.requests)?.try_for_each(|request| Ok(fs::remove_file(request?.path())?))
    }

    /// Stops our server as the user does, and waits until none of the agents' processes are left.
    pub fn end(mut self) -> Result<()> {
        self.stop()?;
        let (home, started) = (self.env.folder("home"), Instant::now());
        loop {
            let left = processes(&home)?;
            if left.is_empty() {
                return Ok(());
            }
            ensure!(started.elapsed() < HANGS, "left behind: {left:?}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

fn serve(env: &TestEnv, model: &ScriptedModel, programs: &[&str], home: &str) -> Result<Server> {
    let mut command = env.openagents(&["serve", "--port", "0", "--json"])?;
    surround(&mut command, env, model, programs)?;
    command.env("OPENAGENTS_HOME", env.folder(home));
    Server::start(command)
}

/// Lists the processes that were started in a `TestEnv`.
fn processes(home: &Path) -> Result<Vec<String>> {
    // Agents do not receive our own variables, so processes are recognized by `HOME`.
    let env = home.parent().context("the home is in a folder")?;
    let wanted = format!("HOME={}\0", env.display());
    let mut found = Vec::new();
    for process in fs::read_dir("/proc")?.flatten() {
        // A process that has exited in the meantime cannot be read.
        let read = |name: &str| fs::read(process.path().join(name)).unwrap_or_default();
        let mut environment = read("environ");
        environment.push(0);
        if environment.windows(wanted.len()).any(|window| window == wanted.as_bytes()) {
            found.push(String::from_utf8_lossy(&read("cmdline")).replace('\0', " "));
        }
    }
    Ok(found)
}

/// Writes the settings that make the agents use the scripted model and nothing else.
fn configure(env: &TestEnv, port: u16) -> Result<()> {
    for folder in ["codex", "claude", "tmp", ".gemini", ".qwen", OPENCODE] {
        fs::create_dir_all(env.folder(folder))?;
    }
    // Codex asks before it writes. With these features on, it would search the web for plug-ins and retry a server that
    // is down forever.
    let codex = format!(
        r#"model = "gpt-5.5"
model_provider = "scripted"
approval_policy = "on-request"
sandbox_mode = "read-only"
check_for_update_on_startup = false
[features]
plugins = false
unbounded_connection_retries = false
[analytics]
enabled = false
[model_providers.scripted]
name = "scripted"
base_url = "http://127.0.0.1:{port}/v1"
wire_api = "responses"
request_max_retries = 2
stream_max_retries = 2
"#
    );
    fs::write(env.folder("codex/config.toml"), codex)?;
    // Disables the mode in which Claude Code asks nothing: it rightly refuses that mode to root.
    let claude = r#"{"permissions":{"disableBypassPermissionsMode":"disable"}}"#;
    fs::write(env.folder("claude/settings.json"), claude)?;
    let quiet = |login: &str| {
        json!({
            "security": {"auth": {"selectedType": login}},
            "general": {"enableAutoUpdate": false, "disableAutoUpdate": true},
            "privacy": {"usageStatisticsEnabled": false},
            "telemetry": {"enabled": false},
        })
    };
    fs::write(env.folder(".gemini/settings.json"), quiet("gemini-api-key").to_string())?;
    fs::write(env.folder(".qwen/settings.json"), quiet("openai").to_string())?;
    let vision = json!({"name": "scripted", "attachment": true, "modalities": {"input": ["text", "image"], "output": ["text"]}});
    let opencode = json!({
        "autoupdate": false, "share": "disabled", "model": "scripted/scripted", "small_model": "scripted/scripted",
        "provider": {"scripted": {
            "npm": "@ai-sdk/openai-compatible", "name": "scripted", "models": {"scripted": vision},
            "options": {"baseURL": format!("http://127.0.0.1:{port}/v1"), "apiKey": "scripted"},
        }},
    });
    fs::write(env.folder(OPENCODE).join("opencode.json"), opencode.to_string())?;
    for arguments in [&["init", "-q"][..], &["add", "-A"], &["commit", "-qm", "first"]] {
        let git = ["-c", "user.name=me", "-c", "user.email=me@example.com"];
        let status = Command::new("git").args(git).args(arguments).current_dir(&env.workspace).status()?;
        ensure!(status.success(), "git {arguments:?}");
    }
    Ok(())
}

fn surround(command: &mut Command, env: &TestEnv, model: &ScriptedModel, programs: &[&str]) -> Result<()> {
    let installed = named(PROGRAMS)?;
    // The real path: the Node that the programs need is next to it.
    let node = fs::canonicalize(installed.join("node"))?;
    let mut path: Vec<PathBuf> = vec![node.parent().context("node is in a folder")?.to_owned()];
    if programs.is_empty() {
        path.push(installed.clone());
    } else {
        let folder = env.folder("programs");
        fs::create_dir_all(&folder)?;
        for program in programs {
            let link = folder.join(program);
            if !link.exists() {
                std::os::unix::fs::symlink(fs::canonicalize(installed.join(program))?, link)?;
            }
        }
        path.push(folder);
    }
    path.extend(["/usr/local/bin", "/usr/bin", "/bin"].map(PathBuf::from));
    let path: OsString = std::env::join_paths(path)?;
    for name in
        ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy", "IS_SANDBOX"]
    {
        command.env_remove(name);
    }
    command
        .env("PATH", &path)
        .env("OPENAGENTS_AGENT_PATH", &path)
        // Codex keeps its sandbox in CODEX_HOME, unless that is a temporary folder.
        .env("TMPDIR", env.folder("tmp"))
        .env("NO_PROXY", "127.0.0.1,localhost")
        .env("no_proxy", "127.0.0.1,localhost")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("NO_BROWSER", "1")
        .env("ANTHROPIC_BASE_URL", format!("http://127.0.0.1:{}", model.port))
        .env("ANTHROPIC_API_KEY", "sk-ant-scripted")
        .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .env("DISABLE_TELEMETRY", "1")
        .env("DISABLE_ERROR_REPORTING", "1")
        .env("DISABLE_AUTOUPDATER", "1")
        .env("GOOGLE_GEMINI_BASE_URL", format!("http://127.0.0.1:{}", model.port))
        .env("GEMINI_API_KEY", "scripted")
        .env("GEMINI_CLI_TRUST_WORKSPACE", "true")
        .env("OPENAI_BASE_URL", format!("http://127.0.0.1:{}/v1", model.port))
        .env("OPENAI_API_KEY", "scripted")
        .env("OPENAI_MODEL", "scripted")
        .env("COPILOT_OFFLINE", "true")
        .env("COPILOT_PROVIDER_BASE_URL", format!("http://127.0.0.1:{}/v1", model.port))
        .env("COPILOT_PROVIDER_API_KEY", "scripted")
        .env("COPILOT_MODEL", "scripted")
        .env("COPILOT_AUTO_UPDATE", "false")
        // Copilot unpacks 190 MB; this is done once for all desks.
        .env("COPILOT_CACHE_HOME", installed.join("../../copilot-cache"));
    // The packages were downloaded once when the programs were installed.
    if let Some(home) = std::env::var_os("HOME") {
        command.env("npm_config_cache", PathBuf::from(home).join(".npm"));
    }
    for name in ["MODELS_FETCH", "AUTOUPDATE", "LSP_DOWNLOAD", "SHARE", "DEFAULT_PLUGINS"] {
        command.env(format!("OPENCODE_DISABLE_{name}"), "1");
    }
    for name in ["CONFIG", "DATA", "CACHE", "STATE"] {
        command.env(format!("XDG_{name}_HOME"), env.folder(&format!("xdg/{name}")));
    }
    Ok(())
}

fn named(variable: &str) -> Result<PathBuf> {
    let folder = std::env::var_os(variable);
    let folder = folder.with_context(|| format!("{variable} is not set; scripts/peers.sh sets it"))?;
    Ok(PathBuf::from(folder))
}

/// A model server that answers from a script. Stopped with its test.
#[derive(Debug)]
struct ScriptedModel {
    child: Child,
    port: u16,
    /// A file for each request.
    requests: PathBuf,
}

impl ScriptedModel {
    fn start(script: &str, requests: PathBuf) -> Result<Self> {
        let program = named(PEERS)?.join("scripted-model");
        let child = Command::new(&program)
            .args(["--port", "0", "--script", script, "--save-bodies"])
            .arg(&requests)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| program.display().to_string())?;
        // Owned before an error can return: dropping it ends the process.
        let mut server = Self { child, port: 0, requests };
        let mut line = String::new();
        BufReader::new(server.child.stdout.take().context("stdout")?).read_line(&mut line)?;
        let reply: Value = serde_json::from_str(&line).with_context(|| format!("it said {line:?}"))?;
        server.port = u16::try_from(reply["port"].as_u64().context("port")?)?;
        Ok(server)
    }
}

impl Drop for ScriptedModel {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
