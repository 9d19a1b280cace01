//! The tools that models and agents call, over the files of a workspace and over the transcripts of other agents.
//!
//! # Layers
//!
//! A module uses modules of lower layers only, never one of the same layer or above. `tests/layers.rs` reads this table
//! and checks every file against it; a new module needs a row.
//!
//! | layer | module | contents |
//! |--:|---|---|
//! | 0 | `tool` | the `Tool` trait, limits, registry, running a call |
//! | 1 | `builtin` | the seven tools over workspace and history |
//! | 2 | `reading` | read access of models and agents |

pub mod builtin;
pub mod reading;
pub mod tool;
