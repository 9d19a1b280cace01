//! What the helper program `openagents-llama` runs: llama.cpp.
//!
//! One thread owns the model and its context (`worker`). It takes jobs one at a time: `model` loads a file, `answer`
//! renders the messages, and `session` computes, token by token, on top of what it remembers from the turn before
//! (`prefix`). **Architecture invariant:** nothing that people start links this library; they start the program.

mod answer;
mod backend;
mod in_process;
mod load_log;
mod model;
mod pace;
mod prefix;
mod sampler;
mod serve;
mod session;
#[cfg(test)]
mod traps;
mod vocabulary;
mod worker;

pub use in_process::InProcess;
pub use serve::serve;
