//! The library of the helper program `openagents-llama`, which runs llama.cpp.
//!
//! One thread owns the model and its context (`worker`). It runs one job at a time: `model` loads a file, `answer`
//! renders the messages, and `session` computes tokens, reusing the cache of the previous turn (`prefix`).
//! **Architecture invariant:** only the helper program links this library.
//!
//! # Layers
//!
//! A module uses only modules of lower layers: `tests/layers.rs` reads this table and checks every file.
//!
//! | layer | module | contents |
//! |--:|---|---|
//! | 1 | `limits` | limits and intervals |
//! | 1 | `vocabulary` | text into tokens and back |
//! | 3 | `session` | a context with its cache |
//! | 4 | `answer` | one answer |
//! | 5 | `model` | loading a file |
//! | 7 | `serve` | the main loop |

mod answer;
mod limits;
mod model;
mod serve;
mod session;
#[cfg(test)]
mod trap_tests;
mod vocabulary;

pub use serve::serve;
