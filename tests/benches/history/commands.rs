//! Commands without a running bridge, and their peers.

use crate::{
    bridge::program,
    corpus::{self, Corpus},
    text::Dice,
};
use anyhow::{Context, Result, ensure};
use openagents_e2e::table::{Goal, Table};
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
    share(made, home, table)
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

/// Runs a command to its end. Returns its output and the milliseconds it took.
pub(crate) fn run(mut command: Command) -> Result<(Vec<u8>, f64)> {
    let begun = Instant::now();
    let output = command.stderr(Stdio::null()).output().with_context(|| format!("{command:?}"))?;
    Ok((output.stdout, begun.elapsed().as_secs_f64() * 1000.0))
}
