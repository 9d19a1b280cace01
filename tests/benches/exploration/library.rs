//! Single tools: our search compared with ripgrep's, and the list of sessions.

use crate::synthetic::{NEEDLE, Synthetic};
use anyhow::{Context, Result, ensure};
use openagents_core::{CancellationToken, workspace::Workspace};
use openagents_e2e::table::{Goal, Table};
use openagents_tools::{
    builtin,
    tool::{Limits, ToolContext, unchanged},
};
use openagents_transcripts::cache::TranscriptCache;
use openagents_transcripts::history::{History, HistoryRoots, Provider};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    process::Command,
    time::{Duration, Instant},
};

const RUNS: usize = 9;

/// Measures `search.grep` and `session.list`.
pub(crate) fn measure(made: &Synthetic, table: &mut Table) -> Result<()> {
    let workspace = Workspace::open(&made.workspace)?;
    for pattern in [NEEDLE, r"\w+_3\d = parser\("] {
        grep(&workspace, pattern, table)?;
    }
    list(made, &workspace, table)
}

fn grep(workspace: &Workspace, pattern: &str, table: &mut Table) -> Result<()> {
    let limits =
        Limits { grep_time: Duration::from_secs(600), grep_matches: usize::MAX, ..Limits::default() };
    let history = History::empty();
    let (mut ours, mut peers, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for run in 0..=RUNS {
        let begun = Instant::now();
        let value = call(
            workspace,
            &history,
            &limits,
            "search.grep",
            json!({"pattern": pattern, "maxResults": usize::MAX}),
        )?;
        // ripgrep prints its matches as JSON, so ours are written as JSON too.
        let text = value.to_string();
        let our = begun.elapsed().as_secs_f64() * 1000.0;
        let begun = Instant::now();
        let printed = ripgrep(workspace, pattern)?;
        let peer = begun.elapsed().as_secs_f64() * 1000.0;
        if run == 0 {
            compare(&value, &printed)?;
            continue;
        }
        std::hint::black_box(text);
        ours.push(our);
        peers.push(peer);
        ratios.push(our / peer);
    }
    table.add(format!("search.grep, uncapped: {pattern}"), "ms", ours, None);
    table.add(format!("rg --json: {pattern}"), "ms", peers, None);
    table.add("search.grep / rg --json, pair by pair", "×", ratios, Some(Goal::Most(1.3)));
    Ok(())
}

fn ripgrep(workspace: &Workspace, pattern: &str) -> Result<String> {
    let flags = [
        "--json",
        "--no-ignore-parent",
        "--no-ignore-global",
        "--no-ignore-exclude",
        "--no-require-git",
        "--no-config",
        "--regexp",
    ];
    let output = Command::new("rg")
        .args(flags)
        .args([pattern, "."])
        .current_dir(workspace.root())
        .output()
        .context("cannot start rg; `make bench` installs it")?;
    Ok(String::from_utf8(output.stdout)?)
}

/// Checks that both find the same lines.
fn compare(ours: &Value, printed: &str) -> Result<()> {
    let found = ours["matches"].as_array().context("no matches")?;
    let ours: BTreeSet<_> = found
        .iter()
        .filter_map(|hit| Some((hit["path"].as_str()?.to_owned(), hit["line_number"].as_u64()?)))
        .collect();
    let mut theirs = BTreeSet::new();
    for line in printed.lines() {
        let event: Value = serde_json::from_str(line)?;
        if event["type"] == "match" {
            let path = event["data"]["path"]["text"].as_str().unwrap_or_default();
            let path = path.strip_prefix("./").unwrap_or(path).to_owned();
            theirs.insert((path, event["data"]["line_number"].as_u64().unwrap_or_default()));
        }
    }
    ensure!(!ours.is_empty(), "nothing was found");
    ensure!(ours == theirs, "{} matches here, {} in ripgrep", ours.len(), theirs.len());
    Ok(())
}

fn list(made: &Synthetic, workspace: &Workspace, table: &mut Table) -> Result<()> {
    let home = tempfile::tempdir()?;
    let roots = HistoryRoots::default()
        .with(Provider::Codex, made.codex.clone())
        .with(Provider::ClaudeCode, made.claude.clone());
    let (limits, mut cold, mut warm) =
        (Limits { list_time: Duration::from_secs(60), ..Limits::default() }, Vec::new(), Vec::new());
    for run in 0..=RUNS {
        // A separate history each time: only the cache file is warm.
        let history = History::new(roots.clone(), TranscriptCache::open(home.path()));
        let begun = Instant::now();
        let value = call(workspace, &history, &limits, "session.list", json!({}))?;
        let took = begun.elapsed().as_secs_f64() * 1000.0;
        ensure!(
            value["sessions"].as_array().is_some_and(|rows| rows.len() == 20),
            "not a full page: {value}"
        );
        if run == 0 { cold.push(took) } else { warm.push(took) }
    }
    table.add("session.list, first page: nothing indexed", "ms", cold, None);
    table.add("session.list, first page: warm", "ms", warm, Some(Goal::Most(100.0)));
    Ok(())
}

fn call(
    workspace: &Workspace,
    history: &History,
    limits: &Limits,
    tool: &str,
    arguments: Value,
) -> Result<Value> {
    let cancel = CancellationToken::new();
    let registry = builtin::registry();
    let context =
        ToolContext { workspace, history, limits, cancel: &cancel, progress: &(), rewrite: unchanged };
    let output = registry.call(tool, &context, arguments)?;
    ensure!(!output.cut.timed_out, "{tool} timed out");
    Ok(output.to_json())
}
