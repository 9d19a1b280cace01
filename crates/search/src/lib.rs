//! Finds what answers a question about a workspace: places in its code, past sessions, and what the repository says about
//! itself. No model is asked.
//!
//! # Layers
//!
//! A module uses modules of lower layers only, never one of its own layer or above. `tests/layers.rs` reads this table
//! and holds every file to it; a new module needs a row.
//!
//! | layer | module | contents |
//! |--:|---|---|
//! | 0 | `recall` | past sessions that answer a question |
//! | 0 | `repository` | what a repository says about itself |
//! | 1 | `find` | places in code and history that answer a question |

pub mod find;
pub mod recall;
pub mod repository;
