//! The response to a call, and what the connection sends after it.

use futures::future::BoxFuture;
use openagents_connection::{fault::Fault, feed::Feed, outbox::dialect::ReadFrom};
use openagents_sessions::{ListWatch, Session, Ticket};
use serde_json::Value;
use std::sync::Arc;

/// Number of missed updates above which a client gets the folded log instead of each update.
pub(super) const LONG: u64 = 2_000;

/// The response to a call, and what follows it.
pub(super) enum Answer {
    Now(Value),
    /// Followed by the updates of a session, from a position on.
    AndFollow(Value, Following),
    /// Sent after the updates of a session up to this number.
    After(Value, Arc<Session>, u64),
    /// Sent when the turn ends.
    AtEnd(Arc<Session>, Ticket),
    /// Sent when it is ready, without holding up other calls.
    Later(BoxFuture<'static, Result<Value, Fault>>),
    /// The same, hidden from the inspector.
    LaterUnrecorded(BoxFuture<'static, Result<Value, Fault>>),
    /// Followed by the feed's snapshot whenever it differs from the given one.
    AndWatch(Value, Arc<Feed>, Value),
    /// Followed by changes in the list of sessions.
    AndWatchList(Value, ListWatch),
    /// Hidden from the inspector; followed by every frame after this number, or by none.
    AndInspect(Value, Option<u64>),
}

/// A session to follow once the answer is sent, and the starting position.
pub(super) struct Following {
    pub(super) session: Arc<Session>,
    pub(super) from: ReadFrom,
    /// The queue change that the answer reports.
    pub(super) queue: Option<u64>,
}

impl Following {
    /// Follows a new session from its first update.
    pub(super) fn from_the_beginning(session: Arc<Session>) -> Self {
        Self { session, from: ReadFrom::Update(0), queue: None }
    }
}
