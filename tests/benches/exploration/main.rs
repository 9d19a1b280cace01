//! `make bench`: the exploration of a large workspace, and our search compared with ripgrep in the same run.
//!
//! `OPENAGENTS_BENCH_SMALL=1` measures a small tree, for trying out the bench itself.

#![expect(clippy::print_stderr, reason = "a bench says what it does")]

mod library;
mod server;
mod synthetic;

use anyhow::Result;
use openagents_e2e::table::Table;
use std::path::PathBuf;
use synthetic::Size;

const LARGE: Size = Size { files: 80_000, transcripts: 2_000, transcript_bytes: 2_000_000_000 };
const SMALL: Size = Size { files: 2_000, transcripts: 50, transcript_bytes: 20_000_000 };

fn main() -> Result<()> {
    // `cargo test` also runs bench targets, with `--test`: the harness only has to build then.
    if !std::env::args().any(|argument| argument == "--bench") {
        return Ok(());
    }
    let small = std::env::var_os("OPENAGENTS_BENCH_SMALL").is_some();
    let (name, size) = if small { ("small", SMALL) } else { ("large", LARGE) };
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("bench").join(name);
    let made = synthetic::make(&folder, size)?;
    let mut table = Table::new(format!(
        "{} files, {} transcripts of {} MB together",
        size.files,
        size.transcripts,
        size.transcript_bytes / 1_000_000
    ));
    server::measure(&made, &mut table)?;
    library::measure(&made, &mut table)?;
    table.print();
    Ok(())
}
