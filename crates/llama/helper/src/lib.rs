//! The library of the helper program `openagents-llama`, which runs llama.cpp.
//!
//! One thread owns the model and its context. It runs one job at a time: `model` loads a file, `answer` renders the
//! messages, and `session` computes tokens, reusing the cache of the previous turn.
//! **Architecture invariant:** only the helper program links this library.
//!
//! # Layers
//!
//! A module uses only modules of lower layers: `tests/layers` checks every file against this table.
//!
//! | layer | module | contents |
//! |--:|---|---|
//! | 1 | `limits` | limits and intervals |
//! | 1 | `vocabulary` | text into tokens and back |
//! | 2 | `session` | a context with its cache |
//! | 3 | `answer` | one answer |
//! | 4 | `model` | loading a file |
//! | 5 | `serve` | the main loop |

mod answer;
mod limits;
mod model;
mod serve;
mod session;
#[cfg(test)]
mod trap_tests;
mod vocabulary;

pub use serve::serve;
