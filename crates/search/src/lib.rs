//! Answers questions about a workspace without a model: from places in its code, past sessions, and the repository's
//! description of itself.
//!
//! # Layers
//!
//! See `tests/layers`, which checks this table.
//!
//! | layer | module | contents |
//! |--:|---|---|
//! | 0 | `definition` | lines that begin a definition |
//! | 0 | `files` | files whose path matches what a user types |
//! | 0 | `moved` | where a folder that no longer exists may be now |
//! | 0 | `recall` | past sessions that answer a question |
//! | 0 | `repository` | a repository's description of itself |
//! | 1 | `symbols` | definitions whose name matches what a user types |
//! | 1 | `orient` | answers about the project as a whole |
//! | 2 | `find` | places in code and history that answer a question |

mod definition;
pub mod files;
pub mod find;
pub mod moved;
mod orient;
pub mod recall;
pub mod repository;
pub mod symbols;

pub use orient::overview;
