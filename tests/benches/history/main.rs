//! `make bench-history`: the sessions of six agents, listed, indexed, searched and opened,
//! compared with ripgrep and ccusage.
//!
//! `OPENAGENTS_BENCH_SMALL=1` measures a small corpus, for trying out the bench itself.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a bench prints its table")]

mod agents;
mod bridge;
mod commands;
mod corpus;
mod keep;
mod log;
mod opencode;
mod text;
mod usage;

use anyhow::{Result, ensure};
use corpus::Size;
use openagents_e2e::table::Table;
use std::path::PathBuf;

const LARGE: Size = Size { transcripts: 5_000, bytes: 9_500_000_000, long: 500_000_000 };
const SMALL: Size = Size { transcripts: 500, bytes: 450_000_000, long: 50_000_000 };

fn main() -> Result<()> {
    // `cargo test` also runs bench targets, with `--test`: the harness only has to build then.
    if !std::env::args().any(|argument| argument == "--bench") {
        return Ok(());
    }
    let small = std::env::var_os("OPENAGENTS_BENCH_SMALL").is_some();
    let (name, size) = if small { ("small", SMALL) } else { ("large", LARGE) };
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("bench-history").join(name);
    let made = corpus::make(&folder, size)?;
    let mut table = Table::new(format!(
        "{} transcripts of six agents, {:.1} GB together, {} bytes of text in a turn of about {}",
        size.transcripts + 1,
        made.bytes as f64 / 1e9,
        agents::TEXT,
        agents::TURN,
    ));
    let home = tempfile::tempdir()?;
    tokio::runtime::Runtime::new()?.block_on(bridge::measure(&made, home.path(), &mut table))?;
    commands::measure(&made, home.path(), &mut table)?;
    let (tokens, is_explained) = usage::measure(&made, &mut table)?;
    table.print();
    tokens.iter().for_each(|line| println!("{line}"));
    ensure!(is_explained, "the tokens of an agent differ, and nothing says why");
    Ok(())
}
