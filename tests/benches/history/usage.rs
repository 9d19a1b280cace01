//! `openagents usage` next to ccusage: the time of a first and of a later report, and the tokens of each agent.

use crate::{bridge::program, commands::run, corpus::Corpus};
use anyhow::{Context, Result, ensure};
use openagents_e2e::table::{Goal, Table};
use serde_json::Value;
use std::process::Command;

/// Each reads all logs.
const FIRST: usize = 3;
const LATER: usize = 15;

/// An agent as we and as ccusage name it, and why ccusage counts other tokens in these logs.
const AGENTS: [(&str, &str, Option<&str>); 6] = [
    ("claude-code", "claude", None),
    ("codex", "codex", Some("takes requests of the same size in the same second for copies")),
    ("gemini", "gemini", None),
    ("copilot", "copilot", None),
    ("opencode", "opencode", None),
    ("qwen", "qwen", Some("adds the thoughts, which Qwen Code counts in the output, once more")),
];

/// Measures reports. Returns what to say about each agent's tokens, and whether something differs without a reason.
pub(crate) fn measure(made: &Corpus, table: &mut Table) -> Result<(Vec<String>, bool)> {
    let ccusage = std::env::var("CCUSAGE_BIN").ok();
    let peer = |arguments: &[&str]| {
        let mut command = Command::new(ccusage.as_deref()?);
        command.args(arguments).args(["--json", "--offline"]);
        command.env("HOME", &made.home).current_dir(&made.workspace);
        for variable in ["CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"] {
            command.env_remove(variable);
        }
        Some(command)
    };
    let (mut first, mut later, mut peers, mut ratios) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut report = Vec::new();
    for _ in 0..FIRST {
        let home = tempfile::tempdir()?;
        let ours = || program(made, home.path(), &["usage", "--all", "--by", "agent", "--json"]);
        let time;
        (report, time) = run(ours())?;
        first.push(time);
        for _ in 0..LATER / FIRST {
            let (again, time) = run(ours())?;
            ensure!(totals(&again)? == totals(&report)?, "a later report has other tokens");
            later.push(time);
        }
        if let Some(command) = peer(&["daily"]) {
            let (_, peer_time) = run(command)?;
            ratios.push(peer_time / time);
            peers.push(peer_time);
        }
    }
    table.add("usage: first report, all logs are read", "ms", first, None);
    table.add("usage: later report", "ms", later, Some(Goal::Most(500.0)));
    table.add("ccusage daily --offline", "ms", peers, None);
    table.add("ccusage's time by that of our first report", "×", ratios, Some(Goal::Least(2.0)));
    let report: Value = serde_json::from_slice(&report)?;
    let rows = report["rows"].as_array().context("rows")?;
    let (mut lines, mut is_explained) = (Vec::new(), true);
    for (agent, name, reason) in AGENTS {
        let Some(command) = peer(&[name, "daily"]) else {
            return Ok((
                vec!["CCUSAGE_BIN does not name ccusage: there is nothing to compare with.".into()],
                true,
            ));
        };
        let ours = rows.iter().find(|row| row["name"] == agent);
        let ours = ours.and_then(|row| row["tokens"].as_u64()).unwrap_or_default();
        let theirs: Value = serde_json::from_slice(&run(command)?.0).unwrap_or_default();
        let theirs = theirs["totals"]["totalTokens"].as_u64().unwrap_or_default();
        let shown = if ours == theirs { "the same" } else { reason.unwrap_or("NOT EXPLAINED") };
        lines.push(format!("{agent:<12} {ours:>15} tokens, ccusage {theirs:>15}: {shown}"));
        is_explained &= ours == theirs || reason.is_some();
    }
    Ok((lines, is_explained))
}

fn totals(report: &[u8]) -> Result<Value> {
    let mut report: Value = serde_json::from_slice(report)?;
    Ok(report["totals"].take())
}
