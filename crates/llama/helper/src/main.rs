//! The helper program that runs a model. See `openagents_llama_helper`.

use cap::Cap;
use std::alloc::System;
use tracing_subscriber::EnvFilter;

/// The most that our own code may take, in bytes; the models themselves, and all of llama.cpp, do not count. It needs
/// about a tenth. A template out of a file is foreign code, and thirty doublings of a text are a gigabyte: this program
/// ends before the computer has no memory left.
const MEMORY: usize = 1 << 30;

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, MEMORY);

fn main() -> anyhow::Result<()> {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .without_time()
        .init();
    openagents_llama_helper::serve()?;
    Ok(())
}
