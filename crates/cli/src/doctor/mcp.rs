//! The commands that let installed agents call `openagents mcp`.

use crate::output;
use openagents_core::agent::AgentsSnapshot;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Agents that support MCP servers: id and program name. Both programs have `mcp add NAME -- COMMAND…`.
const AGENTS: [(&str, &str); 2] = [("claude-code", "claude"), ("codex", "codex")];

/// The command that adds `openagents mcp` to one agent.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct McpCommand {
    agent: &'static str,
    /// One line for a shell.
    command: String,
}

pub(super) fn commands(snapshot: &AgentsSnapshot) -> Vec<McpCommand> {
    let ours = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("openagents"));
    commands_with(snapshot, &ours, &|name| which::which(name).ok())
}

/// `on_path` finds a program by its name, as a shell would.
fn commands_with(
    snapshot: &AgentsSnapshot,
    ours: &Path,
    on_path: &dyn Fn(&str) -> Option<PathBuf>,
) -> Vec<McpCommand> {
    let installed = |id: &str| snapshot.agents.iter().find(|card| card.id == id)?.program.clone();
    let command = |(agent, name): (&'static str, &str)| {
        let (agent_program, ours) =
            (typed(name, &installed(agent)?, on_path)?, typed("openagents", ours, on_path)?);
        Some(McpCommand { agent, command: format!("{agent_program} mcp add openagents -- {ours} mcp") })
    };
    AGENTS.into_iter().filter_map(command).collect()
}

/// Returns a program as typed in a shell: its name if the PATH finds it, otherwise its path.
fn typed(name: &str, program: &Path, on_path: &dyn Fn(&str) -> Option<PathBuf>) -> Option<String> {
    let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if on_path(name).is_some_and(|found| real(&found) == real(program)) {
        return Some(name.to_owned());
    }
    shlex::try_quote(program.to_str()?).ok().map(|quoted| quoted.into_owned())
}

pub(super) fn print(commands: &[McpCommand]) -> std::io::Result<()> {
    if commands.is_empty() {
        return Ok(());
    }
    output::line("\nTo let an agent find code in its workspace with OpenAgents, run:")?;
    for McpCommand { command, .. } in commands {
        output::line(format_args!("    {}", output::printable(command)))?;
    }
    output::line(
        "Append --history to include past sessions of that workspace, and allow it: openagents privacy --allow hosted-history",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn snapshot(value: Value) -> AgentsSnapshot {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn mcp_command_is_quoted_for_shell() {
        let snapshot = snapshot(json!({"agents": [
            {"id": "codex", "program": "/opt/codex"},
            {"id": "claude-code", "program": "/my tools/claude"},
            {"id": "gemini", "program": "/bin/gemini"},
        ]}));
        let only_codex = |name: &str| (name == "codex").then(|| PathBuf::from("/opt/codex"));
        let everything = |name: &str| {
            Some(PathBuf::from(match name {
                "codex" => "/opt/codex",
                "claude" => "/my tools/claude",
                _ => "/bin/openagents",
            }))
        };
        type OnPath<'a> = &'a dyn Fn(&str) -> Option<PathBuf>;
        let rows: [(OnPath<'_>, [&str; 2]); 2] = [
            (
                &only_codex,
                [
                    "'/my tools/claude' mcp add openagents -- /bin/openagents mcp",
                    "codex mcp add openagents -- /bin/openagents mcp",
                ],
            ),
            (
                &everything,
                ["claude mcp add openagents -- openagents mcp", "codex mcp add openagents -- openagents mcp"],
            ),
        ];
        for (on_path, expected) in rows {
            let commands = commands_with(&snapshot, Path::new("/bin/openagents"), on_path);
            assert_eq!(commands.iter().map(|one| one.command.as_str()).collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn missing_agent_gets_no_mcp_command() {
        for agents in [json!({}), json!({"agents": [{"id": "codex", "program": null}]})] {
            assert_eq!(commands_with(&snapshot(agents), Path::new("/bin/openagents"), &|_| None), []);
        }
    }
}
