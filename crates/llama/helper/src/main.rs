//! The helper program that runs a model. See `openagents_llama_helper`.

use cap::Cap;
use std::alloc::System;
use tracing_subscriber::EnvFilter;

/// Maximum bytes allocated by our own code, not counting models and llama.cpp; it needs about a tenth of that. A
/// template from a file is untrusted code, and doubling a text thirty times takes a gigabyte: this limit aborts the
/// program before the machine runs out of memory.
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
