//! Agents that run outside this process, and models behind HTTP.
//!
//! [`LocalAgents`] knows which there are: programs that speak the Agent Client Protocol, the command lines of Codex and
//! Claude Code where no adapter is installed, and models behind an OpenAI-compatible address.

pub mod acp;
mod local;
pub mod openai;
mod process;

pub use local::{AgentsConfig, LocalAgents};
