//! ACP agents as real processes: a misbehaving one, and recordings of real ones.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

mod cancel;
mod edits;
mod foreign_bytes;
mod host;
mod hostile;
mod level;
mod notes;
mod opening;
mod options;
mod own_sessions;
mod prompts;
mod questions;
mod replay;
mod subagents;
mod tools;
mod turns;
mod workspace;
