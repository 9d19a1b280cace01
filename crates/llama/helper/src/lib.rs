//! The library of the helper program `openagents-llama`, which runs llama.cpp.
//!
//! One thread owns the model and its context (`worker`). It runs one job at a time: `model` loads a file, `answer`
//! renders the messages, and `session` computes tokens, reusing the cache of the previous turn (`prefix`).
//! **Architecture invariant:** only the helper program links this library.

mod answer;
mod backend;
mod in_process;
mod load_log;
mod model;
mod prefill_chunk;
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
