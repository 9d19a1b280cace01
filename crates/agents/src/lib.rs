//! Agents that run outside this process, and models behind HTTP.
//!
//! [`LocalAgents`] lists them: programs that speak the Agent Client Protocol, the command lines of Codex and Claude
//! Code if no adapter is installed, and models behind an OpenAI-compatible address.
//!
//! # Layers
//!
//! A module uses modules of lower layers only: `tests/layers.rs` reads this table and holds every file to it.
//!
//! | layer | module | contents |
//! |--:|---|---|
//! | 1 | `known` | the agents that this program knows |
//! | 1 | `openai` | models behind an OpenAI-compatible address |
//! | 1 | `process` | child processes: group, pipes, lines, exit |
//! | 2 | `capture` | output of a short command |
//! | 2 | `output` | output of an agent as updates of our session |
//! | 3 | `acp` | the client side of the Agent Client Protocol |
//! | 3 | `shell` | the `PATH` of the person's shell |
//! | 4 | `command_line` | the command lines of Codex and Claude Code |
//! | 4 | `custom` | agents and models that a person added |
//! | 5 | `doctor` | what is installed, and what is missing |
//! | 6 | `local` | `LocalAgents`: all of them |

pub mod acp;
mod capture;
mod command_line;
mod custom;
mod doctor;
mod known;
mod local;
pub mod openai;
mod output;
mod process;
mod shell;
#[cfg(test)]
mod testing;

pub use custom::{RegistryError, from_registry};
pub use local::{AgentsConfig, LocalAgents};
pub use shell::{PATH_VARIABLE, login_variables};
