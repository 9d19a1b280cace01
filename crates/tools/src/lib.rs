//! The tools that models and agents call, over the files of a workspace and over the transcripts of other agents.
//!
//! # Layers
//!
//! See `tests/layers`, which checks this table.
//!
//! | layer | module | contents |
//! |--:|---|---|
//! | 0 | `tool` | the `Tool` trait, limits, registry, running a call |
//! | 1 | `builtin` | the seven tools over workspace and history |
//! | 2 | `reading` | read access of models and agents |

pub mod builtin;
pub mod reading;
pub mod tool;
