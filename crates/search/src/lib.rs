//! Answers questions about a workspace without a model: from places in its code, past sessions, and the repository's
//! description of itself.
//!
//! # Layers
//!
//! A module uses modules of lower layers only, never one of the same layer or above. `tests/layers.rs` reads this table
//! and checks every file against it; a new module needs a row.
//!
//! | layer | module | contents |
//! |--:|---|---|
//! | 0 | `recall` | past sessions that answer a question |
//! | 0 | `repository` | a repository's description of itself |
//! | 1 | `find` | places in code and history that answer a question |

pub mod find;
pub mod recall;
pub mod repository;
