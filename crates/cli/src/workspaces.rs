//! `openagents workspaces`: the folders in which agents may start.

use crate::{
    args,
    endpoint::{AGENTS, Endpoint, TRUST},
    output::{self, ask},
};
use anyhow::Context;
use openagents_core::trust::{AgentFiles, scan_folder};
use serde::Serialize;
use serde_json::Value;
use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

/// The commands of the bridge.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum TrustCommand {
    Add { path: PathBuf, seen: AgentFiles },
    Revoke { path: PathBuf },
}

pub(crate) fn run(command: &args::Workspaces) -> anyhow::Result<ExitCode> {
    match command {
        args::Workspaces::List { json } => {
            let snapshot = Endpoint::open(TRUST)?.snapshot()?;
            match json {
                true => output::json_pretty(&snapshot)?,
                false => lines(&snapshot, output::now_ms()).iter().try_for_each(output::line)?,
            }
        }
        args::Workspaces::Trust { path, yes } => return trust(path, *yes),
        args::Workspaces::Revoke { path } => {
            // The folder may no longer exist.
            let absolute = std::path::absolute(path).unwrap_or_else(|_| path.clone());
            let path = path.canonicalize().unwrap_or(absolute);
            Endpoint::open(TRUST)?.command(TrustCommand::Revoke { path: path.clone() })?;
            output::line(format_args!("Revoked  {}", shown(&path)))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Shows the agent settings of a folder, and trusts it once the user agrees at the terminal.
fn trust(path: &Path, yes: bool) -> anyhow::Result<ExitCode> {
    let path = path.canonicalize().with_context(|| shown(path))?;
    let seen = scan_folder(&path).with_context(|| shown(&path))?;
    brings(&path, &seen).iter().try_for_each(output::line)?;
    if !seen.complete {
        anyhow::bail!("{} cannot be trusted", shown(&path));
    }
    let mut agents = Endpoint::open(AGENTS)?;
    unasked(&agents.snapshot()?).iter().try_for_each(output::line)?;
    if !yes && !ask("Trust it?", "use --yes to skip the question")? {
        return Ok(ExitCode::FAILURE);
    }
    let answer = agents.methods(TRUST).command(TrustCommand::Add { path: path.clone(), seen })?;
    trusted(&path, &answer).iter().try_for_each(output::line)?;
    Ok(ExitCode::SUCCESS)
}

fn shown(path: &Path) -> String {
    output::printable(&path.to_string_lossy())
}

fn lines(snapshot: &Value, now: i64) -> Vec<String> {
    let rows: Vec<_> = output::rows(snapshot, "workspaces")
        .iter()
        .map(|row| {
            let age = output::age(row["at"].as_i64().unwrap_or_default(), now);
            vec![output::said(row, "path"), age, output::said(row, "by")]
        })
        .collect();
    match rows.is_empty() {
        true => vec!["No folder is trusted yet. Agents ask before they start in one.".to_owned()],
        false => output::columns(&rows),
    }
}

/// Returns the agent settings of a folder as lines.
fn brings(path: &Path, files: &AgentFiles) -> Vec<String> {
    let lines = files.lines(false);
    std::iter::once(shown(path)).chain(lines.iter().map(|line| output::printable(line))).collect()
}

/// Names the agents that decide for themselves what they ask about; trust lets them start in the folder too.
fn unasked(agents: &Value) -> Vec<String> {
    let agents = output::rows(agents, "agents").iter().filter(|card| card["decidesWhatItAsks"] == true);
    agents.map(|card| format!("{} decides itself what it asks.", output::said(card, "name"))).collect()
}

/// Describes what was trusted.
fn trusted(path: &Path, answer: &Value) -> Vec<String> {
    let mut lines = vec![format!("Trusted  {}", shown(path))];
    if let Some(above) = answer["coveredBy"].as_str().filter(|above| Path::new(above) != path) {
        lines.push(format!("as a part of {}", output::printable(above)));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use openagents_core::trust::NOTHING_KNOWN;
    use serde_json::json;

    #[test]
    fn every_folder_has_a_line_with_its_age_and_client() {
        let row = |path: &str, at: i64, by: &str| json!({"path": path, "at": at, "by": by});
        let snapshot =
            json!({"workspaces": [row("/w/app", 0, "Desktop"), row("/w/b\u{1b}[2J", 3_600_000, "Zed")]});
        insta::assert_snapshot!(lines(&snapshot, 7_200_000).join("\n"), @"
        /w/app         2h  Desktop
        /w/b\\u{1b}[2J  1h  Zed
        ");
        assert_eq!(lines(&json!({"workspaces": []}), 0).len(), 1);
    }

    #[test]
    fn trust_says_what_the_folder_brings() {
        let file = json!({"path": ".mcp.json", "risk": "programs", "does": "MCP servers", "agents": ["Claude Code"],
            "says": ["mcpServers.a.command: node a.js"], "digest": "00"});
        let files: AgentFiles = serde_json::from_value(json!({"complete": true, "files": [file]})).unwrap();
        let mut lines = brings(Path::new("/w/app"), &files);
        lines.extend(trusted(Path::new("/w/app"), &json!({"coveredBy": "/w"})));
        insta::assert_snapshot!(lines.join("\n"), @"
        /w/app
        Programs, and what may run:
        - .mcp.json (Claude Code)
            mcpServers.a.command: node a.js
        Trusted  /w/app
        as a part of /w
        ");
        let agents = json!({"agents": [{"name": "Codex", "decidesWhatItAsks": false}, {"name": "odd", "decidesWhatItAsks": true}]});
        assert_eq!(unasked(&agents), ["odd decides itself what it asks."]);
        let nothing = AgentFiles { complete: true, ..AgentFiles::default() };
        assert_eq!(brings(Path::new("/w/a\nb"), &nothing)[1..], [NOTHING_KNOWN.to_owned()]);
    }
}
