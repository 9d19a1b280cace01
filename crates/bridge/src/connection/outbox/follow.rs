//! A connection's position in a session.

use openagents_sessions::{Folding, Session, StoredLog};
use std::sync::Arc;

/// Updates per page.
pub(crate) const PAGE: usize = 64;

/// The position from which a client reads a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum From {
    /// After this update.
    Update(u64),
    /// From the folded log up to this update.
    Folded(u64),
}

/// A connection's position in a session that it follows.
#[derive(Debug)]
pub(super) struct Follow {
    pub(super) session: Arc<Session>,
    /// The last update that was read from the log and written to the client.
    pub(super) read: u64,
    /// The folded log, sent before the updates after `read`.
    pub(super) folding: Option<Box<Folding<StoredLog>>>,
    pub(super) rested: bool,
    pub(super) told: u64,
    /// The last activity change that was sent.
    pub(super) activity: u64,
    /// The last change of the pending approvals that was sent.
    pub(super) approvals: u64,
    /// The last queue change that was sent; `None` to send the current one.
    pub(super) queue: Option<u64>,
}

impl Follow {
    /// Returns the number of the last update that was sent, folded or not.
    pub(super) fn reached(&self) -> u64 {
        if self.folding.is_some() { 0 } else { self.read }
    }
}
