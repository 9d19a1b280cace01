//! The logs of OpenAI Codex ("rollouts"), all versions.
//!
//! Formats: `codex-rs/rollout` and `codex-rs/protocol` of openai/codex, up to 0.169. The SQLite files next to the logs
//! are derived from them and not read. `shell_snapshots/` contains whole environments and is never opened.

mod decoder;
mod discover;
mod fork;
mod names;
mod patch;
mod record;
mod summary;

pub(crate) use decoder::CodexDecoder;
pub(crate) use discover::discover;
pub(crate) use names::names;
pub(crate) use summary::summarise;
