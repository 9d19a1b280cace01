//! A folded update.

use openagents_core::update::{SessionUpdate, ToolCallUpdate};

/// One or more updates folded into one.
#[derive(Debug, Clone, PartialEq)]
pub struct Folded {
    /// Number of the last folded update.
    pub seq: u64,
    /// Time when the first of them was stored, or the last if only that one counts, in milliseconds since the epoch.
    pub ts: i64,
    /// Time when the last of them was stored, in milliseconds since the epoch.
    pub last_ts: i64,
    /// The folded update.
    pub update: SessionUpdate,
    /// Merged updates of the call that `update` announces.
    pub news: Option<News>,
}

/// The updates of a call merged into one.
#[derive(Debug, Clone, PartialEq)]
pub struct News {
    /// The merged update.
    pub update: ToolCallUpdate,
    /// Number of the update that holds the output.
    pub status_seq: u64,
}
