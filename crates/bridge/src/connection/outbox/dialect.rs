//! The dialect of an endpoint: encodes session events as frames.

use crate::base::scope::Scope;
use openagents_core::{agent::OfferedCommand, approval::Approval, model::Activity};
use openagents_sessions::{Folded, ListNews, Session, Waits, store::Stored};
use std::sync::Arc;
use tokio_tungstenite::tungstenite::Utf8Bytes;

/// Encodes session events for one connection. Methods that return `None` do not support the event.
pub(crate) trait Dialect: Send {
    /// Whether a page of frames is flushed as a whole. If false, each frame is flushed individually, followed by a call
    /// to [`Self::written`], for clients that cannot report what they have seen.
    const IN_PAGES: bool;

    /// Maximum number of followed sessions per connection.
    const FOLLOWS: usize;

    /// Encodes a page of updates. `behind` is the number of unsent updates, this page included.
    fn project(&mut self, session: &Session, page: &[Arc<Stored>], behind: u64) -> Vec<Utf8Bytes>;

    /// Returns the frames that were held back, now that the session is idle.
    fn rest(&mut self, _session: &Session) -> Vec<Utf8Bytes> {
        Vec::new()
    }

    /// Records that the next frame of [`Self::project`] or [`Self::rest`] was written, or that there was no frame.
    fn written(&mut self, _session: &Session) {}

    /// Encodes the activity of a session.
    fn activity(&mut self, _session: &Session, _activity: Option<Activity>) -> Option<String> {
        None
    }

    /// Encodes the commands that the agent of a session offers.
    fn commands(&mut self, _session: &Session, _commands: &[OfferedCommand]) -> Option<String> {
        None
    }

    /// Encodes requests for new pending approvals, and cancels those that are no longer pending.
    fn approvals(&mut self, _session: &Session, _pending: &[Approval]) -> Vec<String> {
        Vec::new()
    }

    /// Encodes a page of the folded log.
    fn folded(&mut self, _session: &Session, _page: &[Folded]) -> Vec<Utf8Bytes> {
        Vec::new()
    }

    /// Encodes the end of the folded log, which covers updates up to `seq`.
    fn fold_ends(&mut self, _session: &Session, _seq: u64) -> Option<String> {
        None
    }

    /// Encodes whether a turn is running, and the queued prompts.
    fn queue(&mut self, _session: &Session, _waits: &Waits) -> Option<String> {
        None
    }

    /// Encodes that a session was dropped because too many are followed.
    fn left(&mut self, _session: &Session) -> Option<String> {
        None
    }

    /// Encodes changes in the list of sessions.
    fn sessions(&mut self, _news: &ListNews) -> Option<String> {
        None
    }

    /// Returns the client's current scope.
    fn scope(&self) -> Scope;

    /// Encodes an error about a session's log.
    fn failed(&mut self, session: &Session, message: &str) -> String;
}
