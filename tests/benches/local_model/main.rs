//! `make bench-local-model`: the local model through its whole path, client → bridge → helper → client, compared with
//! llama-server streaming the same file in the same run.
//!
//! Both get one thread, the same messages, greedy sampling and the same number of tokens, in turn. Both cache the
//! beginning of a prompt that they have already read; only the rest is measured.

#![expect(clippy::print_stdout, reason = "a bench prints its table")]

mod ours;
mod peer;
mod table;

use anyhow::{Context as _, Result};
use std::path::PathBuf;

/// Pairs of runs; the median counts.
const PAIRS: usize = 9;
const TOKENS: u32 = 128;
/// Tokens of the context, for both.
const CONTEXT: u32 = 4096;

/// The measurements of one run, taken at the client.
#[derive(Debug, Clone, Copy)]
struct Run {
    /// From the request to the first text, in seconds.
    first: f64,
    /// From the first text to the end, in seconds.
    rest: f64,
    /// Prompt tokens that had to be read.
    read: f64,
    generated: f64,
}

impl Run {
    fn prompt_speed(&self) -> f64 {
        self.read / self.first
    }

    fn decode_speed(&self) -> f64 {
        (self.generated - 1.0) / self.rest
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    // `cargo test` also runs bench targets, with `--test`: the harness only has to build then.
    if !std::env::args().any(|argument| argument == "--bench") {
        return Ok(());
    }
    let models =
        std::env::var_os("OPENAGENTS_TEST_MODELS").context("run this by `make bench-local-model`")?;
    let model = PathBuf::from(models).join("SmolLM2-135M-Instruct.gguf");
    let mut ours = ours::Ours::start(&model).await?;
    let mut peer = peer::Peer::start(&model, &ours.instructions).await?;

    let (mut long, mut short) = (Vec::new(), Vec::new());
    for pair in 0..=PAIRS {
        let question = long_question(pair);
        let runs = in_turn(pair, &mut ours, &mut peer, &question, TOKENS).await?;
        let word = format!("Say {pair}.");
        let words = in_turn(pair, &mut ours, &mut peer, &word, 4).await?;
        // The first pair warms both up.
        if pair > 0 {
            long.push(runs);
            short.push(words);
        }
    }
    let memory = (ours.memory()?, peer.memory()?);
    table::print(&long, &short, &ours.own_first_ms, memory);
    peer.bench(&model)?;
    Ok(())
}

/// Runs both; which one goes first changes with every pair.
async fn in_turn(
    pair: usize,
    ours: &mut ours::Ours,
    peer: &mut peer::Peer,
    question: &str,
    tokens: u32,
) -> Result<(Run, Run)> {
    if pair.is_multiple_of(2) {
        let run = ours.run(question, tokens).await?;
        Ok((run, peer.run(question, tokens).await?))
    } else {
        let run = peer.run(question, tokens).await?;
        Ok((ours.run(question, tokens).await?, run))
    }
}

/// Returns about a thousand tokens whose beginning differs for each pair, and a task whose answer does not end early.
fn long_question(pair: usize) -> String {
    let facts: Vec<String> = (0..90)
        .map(|line| format!("{}: shelf {line} holds {} jars.", pair + 1, (line * 7 + pair * 13) % 50))
        .collect();
    format!(
        "{}\n\nWrite a very long story about these shelves and the people who fill them.",
        facts.join("\n")
    )
}
