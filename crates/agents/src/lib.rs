//! Agents that run outside this process, and models behind HTTP.
//!
//! [`LocalAgents`] lists and installs them: programs that speak the Agent Client Protocol, and models behind an
//! OpenAI-compatible address.
//!
//! # Layers
//!
//! See `tests/layers`, which checks this table.
//!
//! | layer | module | contents |
//! |--:|---|---|
//! | 1 | `asking` | the settings with which an agent asks before it acts |
//! | 1 | `limits` | limits and intervals |
//! | 2 | `known` | the agents that this program knows |
//! | 2 | `openai` | models behind an OpenAI-compatible address |
//! | 2 | `process` | child processes: group, pipes, lines, exit |
//! | 3 | `capture` | the output of a short command |
//! | 3 | `output` | an agent's output as updates of our session |
//! | 4 | `acp` | the client side of the Agent Client Protocol |
//! | 4 | `shell` | the `PATH` of the user's login shell |
//! | 5 | `custom` | agents and models that the user added |
//! | 5 | `version` | the version of a program, and the Node that it needs |
//! | 6 | `packages` | agents that are installed as npm packages |
//! | 7 | `login` | logging in to an agent with its own program |
//! | 8 | `doctor` | what is installed, and what is missing |
//! | 9 | `local` | `LocalAgents`: all of them |

pub mod acp;
mod asking;
mod capture;
mod custom;
mod doctor;
mod known;
mod limits;
mod local;
mod login;
pub mod openai;
mod output;
mod packages;
mod process;
mod shell;
#[cfg(test)]
mod testing;
mod version;

pub use acp::OwnTools;
pub use custom::{RegistryError, from_registry};
pub use local::{AgentsConfig, LocalAgents};
pub use shell::{PATH_VARIABLE, login_variables};
