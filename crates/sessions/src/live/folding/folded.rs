//! A folded update.

use openagents_core::update::{SessionUpdate, ToolCallUpdate};

/// What is left of one or more updates.
#[derive(Debug, Clone, PartialEq)]
pub struct Folded {
    /// The number of the last of them.
    pub seq: u64,
    /// When the first of them was stored; of what only the last counts, when that was.
    pub ts: i64,
    /// When the last of them was stored.
    pub last_ts: i64,
    /// All of them as one.
    pub update: SessionUpdate,
    /// How it goes with a call that was announced by the update.
    pub news: Option<News>,
}

/// All news of a call as one.
#[derive(Debug, Clone, PartialEq)]
pub struct News {
    /// What they come to.
    pub update: ToolCallUpdate,
    /// The number of the update that has the output.
    pub status_seq: u64,
}
