//! Agents that run outside this process, and models behind HTTP.
//!
//! [`LocalAgents`] lists them: programs that speak the Agent Client Protocol, the command lines of Codex and Claude
//! Code if no adapter is installed, and models behind an OpenAI-compatible address.

pub mod acp;
mod capture;
mod command_line;
mod custom;
mod doctor;
mod known;
mod local;
pub mod openai;
mod process;
mod shell;
#[cfg(test)]
mod testing;

pub use custom::{RegistryError, from_registry};
pub use local::{AgentsConfig, LocalAgents};
pub use shell::{PATH_VARIABLE, login_variables};
