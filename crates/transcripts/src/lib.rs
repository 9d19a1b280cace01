//! What other coding agents left on this machine: their logs, read and never changed.
//!
//! # Layers
//!
//! A module uses modules of lower layers only, never one of its own layer or above. `tests/layers.rs` reads this table
//! and holds every file to it; a new module needs a row.
//!
//! | layer | module | contents |
//! |--:|---|---|
//! | 0 | `limits` | numbers that may be tuned |
//! | 1 | `history` | logs of other agents: finding, listing, reading and searching them |
//! | 2 | `replay` | a transcript as updates of a session |

pub mod history;
mod limits;
pub mod replay;
