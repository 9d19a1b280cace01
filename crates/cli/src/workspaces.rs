//! `openagents workspaces`: the folders in which agents may start.

use crate::{
    args,
    endpoint::Endpoint,
    output::{self, ask},
};
use anyhow::Context;
use openagents_core::agent::AgentsSnapshot;
use openagents_core::trust::{AgentFiles, scan_folder};
use openagents_wire::{
    FolderQuery, MapFolder, MovedFolder, SuggestedFolder, SuggestedFolders, TrustSnapshot, TrustedWorkspace,
    WorkspacePath, methods,
};
use std::{path::Path, process::ExitCode};

pub(crate) fn run(command: &args::Workspaces) -> anyhow::Result<ExitCode> {
    match command {
        args::Workspaces::List { json } => {
            let snapshot = Endpoint::open()?.list::<methods::TrustList>()?;
            match json {
                true => output::json_pretty(&snapshot)?,
                false => lines(&snapshot, output::now_ms()).iter().try_for_each(output::line)?,
            }
        }
        args::Workspaces::Trust { path, yes } => return trust(path, *yes),
        args::Workspaces::Moved { old, new, forget, list: _ } => {
            return moved(old.as_deref(), new.as_deref(), *forget);
        }
        args::Workspaces::Revoke { path } => {
            // The folder may no longer exist.
            let absolute = std::path::absolute(path).unwrap_or_else(|_| path.clone());
            let path = path.canonicalize().unwrap_or(absolute);
            let revoked = WorkspacePath { path: path.clone(), seen: None };
            Endpoint::open()?.call::<methods::TrustRevoke>(revoked)?;
            output::line(format_args!("Revoked  {}", shown(&path)))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Stores or forgets where a folder is now, or suggests that; without a folder, lists those that were moved.
fn moved(old: Option<&Path>, new: Option<&Path>, forget: bool) -> anyhow::Result<ExitCode> {
    let mut endpoint = Endpoint::open()?;
    let absolute = |path: &Path| std::path::absolute(path).with_context(|| shown(path));
    let Some(old) = old else {
        let settings = endpoint.list::<methods::HistorySettings>()?;
        let row = |moved: &MovedFolder| vec![output::printable(&moved.from), output::printable(&moved.to)];
        let rows: Vec<_> = settings.moved.iter().map(row).collect();
        output::columns(&rows).iter().try_for_each(output::line)?;
        return Ok(ExitCode::SUCCESS);
    };
    let from = absolute(old)?;
    if let Some(new) = new {
        let to = absolute(new)?;
        let map = MapFolder { from: from.clone(), to: Some(to.clone()) };
        endpoint.call::<methods::WorkspacesMap>(map)?;
        output::line(format_args!("Moved  {} → {}", shown(&from), shown(&to)))?;
        return Ok(ExitCode::SUCCESS);
    }
    if forget {
        endpoint.call::<methods::WorkspacesMap>(MapFolder { from: from.clone(), to: None })?;
        output::line(format_args!("Forgot  {}", shown(&from)))?;
        return Ok(ExitCode::SUCCESS);
    }
    let SuggestedFolders { folders } = endpoint.call::<methods::WorkspacesSuggest>(FolderQuery { from })?;
    if folders.is_empty() {
        let old = openagents_core::visible::shell_word(&old.to_string_lossy()).into_owned();
        output::line(format_args!(
            "Not found. If you know where it is: openagents workspaces moved {old} NEW"
        ))?;
        return Ok(ExitCode::FAILURE);
    }
    for SuggestedFolder { path, evidence } in &folders {
        output::line(output::printable(path))?;
        evidence.iter().try_for_each(|why| output::line(format_args!("  {}", output::printable(why))))?;
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
    let mut endpoint = Endpoint::open()?;
    unasked(&endpoint.list::<methods::AgentsList>()?).iter().try_for_each(output::line)?;
    if !yes && !ask("Trust it?", "use --yes to skip the question")? {
        return Ok(ExitCode::FAILURE);
    }
    let trust = WorkspacePath { path: path.clone(), seen: Some(seen) };
    let answer = endpoint.call::<methods::TrustAdd>(trust)?;
    trusted(&path, &answer.covered_by).iter().try_for_each(output::line)?;
    Ok(ExitCode::SUCCESS)
}

fn shown(path: &Path) -> String {
    output::printable(&path.to_string_lossy())
}

fn lines(snapshot: &TrustSnapshot, now: i64) -> Vec<String> {
    let row =
        |row: &TrustedWorkspace| vec![shown(&row.path), output::age(row.at, now), output::printable(&row.by)];
    let rows: Vec<_> = snapshot.workspaces.iter().map(row).collect();
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
fn unasked(snapshot: &AgentsSnapshot) -> Vec<String> {
    let agents = snapshot.agents.iter().filter(|card| card.decides_what_it_asks);
    agents.map(|card| format!("{} may act without asking you.", output::printable(&card.name))).collect()
}

fn trusted(path: &Path, covered_by: &Path) -> Vec<String> {
    let mut lines = vec![format!("Trusted  {}", shown(path))];
    if covered_by != path {
        lines.push(format!("as a part of {}", shown(covered_by)));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use openagents_core::trust::NOTHING_KNOWN;
    use serde_json::json;

    #[test]
    fn trusted_folder_is_shown_with_age_and_client() {
        let row = |path: &str, at, by: &str| TrustedWorkspace { path: path.into(), by: by.to_owned(), at };
        let workspaces = vec![row("/w/app", 0, "Desktop"), row("/w/b\u{1b}[2J", 3_600_000, "Zed")];
        let snapshot = TrustSnapshot { workspaces };
        insta::assert_snapshot!(lines(&snapshot, 7_200_000).join("\n"), @"
        /w/app         2h  Desktop
        /w/b\\u{1b}[2J  1h  Zed
        ");
        assert_eq!(lines(&TrustSnapshot::default(), 0).len(), 1);
    }

    #[test]
    fn trust_shows_agent_settings() {
        let file = json!({"path": ".mcp.json", "risk": "programs", "does": "MCP servers", "agents": ["Claude Code"],
            "says": ["mcpServers.a.command: node a.js"], "digest": "00"});
        let files: AgentFiles = serde_json::from_value(json!({"complete": true, "files": [file]})).unwrap();
        let mut lines = brings(Path::new("/w/app"), &files);
        lines.extend(trusted(Path::new("/w/app"), Path::new("/w")));
        insta::assert_snapshot!(lines.join("\n"), @"
        /w/app
        Programs, and what may run:
        - .mcp.json (Claude Code)
            mcpServers.a.command: node a.js
        Trusted  /w/app
        as a part of /w
        ");
        let agents = json!({"agents": [{"name": "Codex", "decidesWhatItAsks": false}, {"name": "odd", "decidesWhatItAsks": true}]});
        let agents = serde_json::from_value(agents).unwrap();
        assert_eq!(unasked(&agents), ["odd may act without asking you."]);
        let nothing = AgentFiles { complete: true, ..AgentFiles::default() };
        assert_eq!(brings(Path::new("/w/a\nb"), &nothing)[1..], [NOTHING_KNOWN.to_owned()]);
    }
}
