//! The logs of other coding agents on this machine, which are read and never changed, and the caches and indexes that
//! make listing and searching them fast.
//!
//! # Layers
//!
//! See `tests/layers`, which checks this table.
//!
//! | layer | module | contents |
//! |--:|---|---|
//! | 0 | `cache_file` | a disposable database file |
//! | 0 | `limits` | numbers that may be tuned |
//! | 1 | `history` | logs of other agents: finding, listing, reading and searching them |
//! | 2 | `retention` | sessions that agents delete on their own schedule |
//! | 3 | `keep` | copies of sessions that outlive their logs |
//! | 2 | `cache` | the cache of parsed transcripts |
//! | 2 | `history_index` | the full-text index, and changes in the logs |
//! | 2 | `replay` | a transcript as updates of a session |
//! | 2 | `usage` | the tokens and costs of all requests in the logs |

pub mod cache;
mod cache_file;
pub mod history;
pub mod history_index;
pub mod keep;
mod limits;
pub mod replay;
pub mod retention;
pub mod usage;
