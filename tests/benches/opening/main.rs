//! Measures how long it takes to open a stored session: finding it, and reading the end of its log.
//!
//! The time must not depend on the length of the log.

#![expect(clippy::print_stdout, reason = "a bench prints its table")]

use anyhow::{Context, Result, ensure};
use openagents_core::update::{AgentMessage, SessionUpdate, UserMessage};
use openagents_sessions::{
    SessionRegistry,
    store::{NewSession, Store},
};
use openagents_transcripts::history::History;
use std::{path::Path, sync::Arc, time::Instant};

/// Lengths of the sessions, in updates.
const LENGTHS: [usize; 2] = [1_000, 100_000];

/// Maximum time for opening a session, in milliseconds.
const GOAL_MS: f64 = 20.0;

/// Number of measurements per length.
const RUNS: usize = 21;

/// Updates read from the end.
const TAIL: u64 = 64;

fn main() -> Result<()> {
    let runtime = tokio::runtime::Runtime::new()?;
    let home = tempfile::tempdir()?;
    let mut slowest = 0.0;
    for length in LENGTHS {
        let (rested, killed) = (format!("rested-{length}"), format!("killed-{length}"));
        write_log(home.path(), &rested, length, true)?;
        write_log(home.path(), &killed, length, false)?;
        let mut times = Vec::new();
        for _ in 0..RUNS {
            times.push(runtime.block_on(open(home.path(), &rested))?);
        }
        times.sort_by(f64::total_cmp);
        let (median, last) = (times[RUNS / 2], times[RUNS - 1]);
        let closing = runtime.block_on(open(home.path(), &killed))?;
        println!(
            "{length:>7} updates: opened in {median:.2} ms (slowest {last:.2} ms), after a crash in {closing:.2} ms"
        );
        slowest = median.max(closing);
    }
    ensure!(slowest <= GOAL_MS, "slower than {GOAL_MS} ms");
    Ok(())
}

/// Opens a session as the first reader does, with nothing in memory. Returns the milliseconds.
async fn open(home: &Path, id: &str) -> Result<f64> {
    let store = openagents_bridge::open_store(home)?;
    let sessions = SessionRegistry::new(store, Arc::new(History::empty()), home.to_owned());
    let begun = Instant::now();
    let session = sessions.find(id).await?.context("no session")?;
    let seq = session.head().seq;
    let end = session.read_after(seq - TAIL, usize::MAX >> 1, usize::MAX).await?;
    let took = begun.elapsed().as_secs_f64() * 1000.0;
    ensure!(end.len() as u64 == TAIL, "read {} updates", end.len());
    Ok(took)
}

/// Writes a session of one long answer. Without an end, its turn counts as killed.
fn write_log(home: &Path, id: &str, length: usize, ends: bool) -> Result<()> {
    let store: Store = openagents_bridge::open_store(home)?;
    let cwd = home.to_owned();
    store.create_session(NewSession { id: id.to_owned(), cwd, mode: "default_mode".to_owned() })?;
    let reply = |n: usize| AgentMessage {
        text: format!("A line of the answer, number {n}, as long as they are.\n"),
        message_id: Some("m".to_owned()),
        ended: ends && n + 1 == length,
        ..AgentMessage::default()
    };
    let prompt = UserMessage { text: "Go".to_owned(), ..UserMessage::default() };
    let mut log = vec![SessionUpdate::UserMessage(prompt)];
    log.extend((1..length).map(|n| SessionUpdate::AgentMessage(reply(n))));
    while !log.is_empty() {
        store.append(id, log.drain(..log.len().min(1_000)).collect())?;
    }
    Ok(())
}
