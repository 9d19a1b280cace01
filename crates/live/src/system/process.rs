//! A process of an agent, and how the agent is recognised by its command line.

use crate::{processes::Terminal, state::Millis};
use openagents_transcripts::history::Provider;
use std::path::{Path, PathBuf};

/// A process: its number may be used again, together with its start it is unique.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessId {
    pub pid: u32,
    /// As the system counts it: ticks since the start of the system, or seconds since the epoch.
    pub start: u64,
}

/// A process of an agent, or one that such a process has started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessFact {
    pub id: ProcessId,
    pub parent: u32,
    pub started: Millis,
    /// As the system has it.
    pub name: String,
    /// The command line; empty for processes that are no agents.
    pub command: Vec<String>,
    /// The agent whose program it runs.
    pub agent: Option<Provider>,
    pub folder: Option<PathBuf>,
    pub terminal: Terminal,
    pub is_suspended: bool,
    /// Files that it has open which name its session: a log, or a lock.
    pub open_files: Vec<PathBuf>,
    pub pane: Option<Pane>,
    /// The agent's folder, if the environment sets it.
    pub config: Option<PathBuf>,
}

impl ProcessFact {
    /// Whether it is a background service of Codex, which has the sessions of several windows.
    pub fn is_service(&self) -> bool {
        self.agent == Some(Provider::Codex) && self.command.iter().any(|argument| argument == "app-server")
    }
}

/// Commands of agents that have no session.
const WITHOUT_SESSION: [&str; 24] = [
    "apply",
    "archive",
    "auth",
    "completion",
    "config",
    "debug",
    "delete",
    "doctor",
    "extensions",
    "features",
    "install",
    "login",
    "logout",
    "mcp",
    "mcp-server",
    "migrate-installer",
    "plugin",
    "purge",
    "sandbox",
    "setup-token",
    "unarchive",
    "uninstall",
    "update",
    "upgrade",
];

/// The variable that sets the folder of an agent.
pub(super) fn config_variable(agent: Provider) -> Option<&'static str> {
    match agent {
        Provider::ClaudeCode => Some("CLAUDE_CONFIG_DIR"),
        Provider::Codex => Some("CODEX_HOME"),
        _ => None,
    }
}

/// The pane of tmux in which a process runs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pane {
    pub socket: PathBuf,
    /// Such as `%3`.
    pub id: String,
}

impl Pane {
    /// Reads the variables `TMUX` (socket, process and session, with commas) and `TMUX_PANE`.
    pub(super) fn from_env(tmux: &str, pane: &str) -> Option<Self> {
        let socket = tmux.split(',').next().filter(|socket| Path::new(socket).is_absolute())?;
        let is_pane = pane.strip_prefix('%').is_some_and(|id| id.parse::<u32>().is_ok());
        is_pane.then(|| Self { socket: socket.into(), id: pane.to_owned() })
    }
}

/// Returns the agent whose program a command line starts. Node names processes after its thread, so the name of a process
/// does not say which agent it is. Commands that have no session do not count.
pub(super) fn agent_of(command: &[String]) -> Option<Provider> {
    let name = |path: &str| {
        let file = Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or_default();
        file.strip_suffix(".js").unwrap_or(file).to_owned()
    };
    // A script comes after the options of its interpreter.
    let is_script = matches!(name(command.first()?).as_str(), "node" | "bun" | "deno" | "MainThread");
    let at = match is_script {
        true => 1 + command.iter().skip(1).position(|argument| !argument.starts_with('-'))?,
        false => 0,
    };
    let program = command.get(at)?;
    if command.get(at + 1).is_some_and(|first| WITHOUT_SESSION.contains(&first.as_str())) {
        return None;
    }
    let is_package = |package: &str| program.contains(&format!("/{package}/"));
    match name(program).as_str() {
        "claude" => Some(Provider::ClaudeCode),
        "codex" => Some(Provider::Codex),
        "gemini" => Some(Provider::Gemini),
        "qwen" => Some(Provider::Qwen),
        "copilot" => Some(Provider::Copilot),
        "opencode" => Some(Provider::Opencode),
        _ if is_package("@anthropic-ai/claude-code") => Some(Provider::ClaudeCode),
        _ if is_package("@google/gemini-cli") => Some(Provider::Gemini),
        _ if is_package("@qwen-code/qwen-code") => Some(Provider::Qwen),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_are_found_by_command_line() {
        let rows: &[(&str, Option<Provider>)] = &[
            ("claude", Some(Provider::ClaudeCode)),
            ("/home/me/.local/bin/claude --resume a", Some(Provider::ClaudeCode)),
            ("node /usr/lib/node_modules/@anthropic-ai/claude-code/cli.js", Some(Provider::ClaudeCode)),
            ("node /usr/bin/codex", Some(Provider::Codex)),
            ("/opt/@openai/codex-linux-x64/vendor/bin/codex app-server", Some(Provider::Codex)),
            ("node --max-old-space-size=12052 /usr/bin/gemini", Some(Provider::Gemini)),
            ("node --expose-gc /usr/lib/@qwen-code/qwen-code/cli.js", Some(Provider::Qwen)),
            ("/usr/lib/@github/copilot-linux-x64/copilot", Some(Provider::Copilot)),
            ("opencode", Some(Provider::Opencode)),
            ("claude mcp serve", None),
            ("node /usr/bin/codex mcp-server", None),
            ("claude 'update the docs'", Some(Provider::ClaudeCode)),
            ("node server.js", None),
            ("vim claude", None),
            ("/bin/bash -c claude", None),
            ("node", None),
            ("", None),
        ];
        for (line, expected) in rows {
            let command: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            assert_eq!(agent_of(&command), *expected, "{line}");
        }
    }

    #[test]
    fn panes_are_read_from_variables() {
        let pane = Pane::from_env("/tmp/tmux-0/default,99,0", "%3");
        assert_eq!(pane, Some(Pane { socket: "/tmp/tmux-0/default".into(), id: "%3".to_owned() }));
        for (tmux, pane) in
            [("", "%3"), ("relative,1,0", "%3"), ("/tmp/a,1,0", "3"), ("/tmp/a,1,0", "%x; rm")]
        {
            assert_eq!(Pane::from_env(tmux, pane), None, "{tmux} {pane}");
        }
    }
}
