//! A session for other readers: a file, or a brief for another agent. Secrets are hidden in both.
//!
//! # Layers
//!
//! See `tests/layers`, which checks this table.
//!
//! | layer | module | contents |
//! |--:|---|---|
//! | 0 | `controls` | characters that control a terminal or reorder text |
//! | 0 | `markdown` | Markdown as safe HTML |
//! | 0 | `secrets` | keys, tokens and passwords in text |
//! | 1 | `brief` | what another agent needs to know to continue a session |
//! | 1 | `export` | a session as a file |

pub mod brief;
mod controls;
pub mod export;
pub mod markdown;
pub mod secrets;
