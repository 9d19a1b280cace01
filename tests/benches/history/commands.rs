//! Commands without a running bridge, and their peers.

use crate::{
    bridge::program,
    corpus::{self, Corpus},
    text::Dice,
};
use anyhow::{Context, Result, ensure};
use openagents_e2e::table::{Goal, Table};
use serde_json::Value;
use std::{
    path::Path,
    process::{Command, Stdio},
    time::Instant,
};

const RUNS: usize = 5;
const SEARCHES: usize = 100;

pub(crate) fn measure(made: &Corpus, home: &Path, table: &mut Table) -> Result<()> {
    let mut dice = Dice::new(5);
    let (mut ours, mut peers) = (Vec::new(), Vec::new());
    for _ in 0..SEARCHES {
        let word = &made.words[dice.roll(made.words.len())];
        ours.push(run(program(made, home, &["sessions", "search", word, "--json"]))?.1);
    }
    table.add("command: search of a word, p99", "ms", ours, Some(Goal::P99(150.0)));
    if Command::new("rg").arg("--version").stdout(Stdio::null()).status().is_ok() {
        for _ in 0..RUNS {
            let word = &made.words[dice.roll(made.words.len())];
            let mut command = Command::new("rg");
            command.args(["-il", word]).arg(&made.home).args(["--hidden", "--no-ignore"]);
            peers.push(run(command)?.1);
        }
        table.add("rg -il of a word", "ms", peers, None);
    }
    share(made, home, table)?;
    usage(made, home, table)
}

/// Writes the long transcript for other readers.
fn share(made: &Corpus, home: &Path, table: &mut Table) -> Result<()> {
    let id = corpus::long_id();
    for (name, arguments) in [
        ("command: export of the long transcript, Markdown", vec!["sessions", "export", &id]),
        ("command: export, HTML", vec!["sessions", "export", &id, "--format", "html", "--tools", "full"]),
        ("command: brief of it", vec!["sessions", "brief", &id]),
    ] {
        let (written, time) = run(program(made, home, &arguments))?;
        ensure!(!written.is_empty(), "{name}: nothing was written");
        table.add(name, "ms", vec![time], None);
    }
    Ok(())
}

/// Reads every Claude Code transcript once, for its tokens: our program and ccusage in turn.
fn usage(made: &Corpus, home: &Path, table: &mut Table) -> Result<()> {
    let Ok(ccusage) = std::env::var("CCUSAGE_BIN") else {
        println!("CCUSAGE_BIN does not name ccusage: reading is not compared with it.");
        return Ok(());
    };
    let (mut ours, mut peers, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for at in 0..=RUNS {
        let (our, time) = run(program(
            made,
            home,
            &["sessions", "stats", "--tokens", "--provider", "claude-code", "--json"],
        ))?;
        let mut command = Command::new(&ccusage);
        command
            .args(["claude", "daily", "--json", "--offline"])
            .env("HOME", &made.home)
            .current_dir(&made.workspace);
        command.env_remove("CLAUDE_CONFIG_DIR");
        let (peer, peer_time) = run(command)?;
        if at == 0 {
            same(&our, &peer)?;
            continue;
        }
        ours.push(time);
        peers.push(peer_time);
        ratios.push(peer_time / time);
    }
    table.add("tokens of every Claude Code transcript", "ms", ours, None);
    table.add("ccusage claude daily --offline", "ms", peers, None);
    table.add("ccusage's time by ours", "×", ratios, Some(Goal::Least(2.0)));
    Ok(())
}

fn same(our: &[u8], peer: &[u8]) -> Result<()> {
    let (our, peer): (Value, Value) = (serde_json::from_slice(our)?, serde_json::from_slice(peer)?);
    let tokens = &our[0]["tokens"];
    let totals = &peer["totals"];
    for (ours, theirs) in [
        ("input", "inputTokens"),
        ("output", "outputTokens"),
        ("cacheWrite", "cacheCreationTokens"),
        ("cacheRead", "cacheReadTokens"),
    ] {
        ensure!(
            tokens[ours].as_u64().is_some() && tokens[ours].as_u64() == totals[theirs].as_u64(),
            "{ours} differ: {tokens} and {totals}"
        );
    }
    println!("The tokens are the same: {tokens}.");
    Ok(())
}

/// Runs a command to its end. Returns its output and the milliseconds it took.
fn run(mut command: Command) -> Result<(Vec<u8>, f64)> {
    let begun = Instant::now();
    let output = command.stderr(Stdio::null()).output().with_context(|| format!("{command:?}"))?;
    Ok((output.stdout, begun.elapsed().as_secs_f64() * 1000.0))
}
