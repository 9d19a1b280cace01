//! What a door makes of what happens in a session.

use crate::access::Scope;
use openagents_core::{approval::Approval, model::Activity};
use openagents_sessions::{Folded, ListNews, Session, Waits, store::Stored};
use std::sync::Arc;
use tokio_tungstenite::tungstenite::Utf8Bytes;

/// How a door shows updates.
pub(crate) trait Dialect: Send {
    /// A page is written as one: it counts as sent when all of it is. Where a client cannot say what it has seen, each
    /// frame counts for itself.
    const IN_PAGES: bool;

    /// Sessions that a connection follows at the most.
    const FOLLOWS: usize;

    /// Turns a page of updates into frames. `behind` says how many updates there are in all, this page included.
    fn project(&mut self, session: &Session, page: &[Arc<Stored>], behind: u64) -> Vec<Projected>;

    /// Returns what was held back, now that the session rests.
    fn rest(&mut self, session: &Session) -> Vec<Projected>;

    /// Returns what is held back.
    fn held_back(&self, session: &Session) -> Option<HeldBack>;

    /// Says what a session is doing, if this door shows that.
    fn activity(&mut self, session: &Session, activity: Option<Activity>) -> Option<String>;

    /// Asks for what somebody waits for in a session, and takes back what nobody waits for any more, if this door does.
    fn approvals(&mut self, session: &Session, pending: &[Approval]) -> Vec<String>;

    /// Turns a page of what a log comes to into frames, if this door shows that.
    fn folded(&mut self, _session: &Session, _page: &[Folded]) -> Vec<Utf8Bytes> {
        Vec::new()
    }

    /// Says that this was what the log comes to up to `seq`.
    fn fold_ends(&mut self, _session: &Session, _seq: u64) -> Option<String> {
        None
    }

    /// Says whether a turn runs and which ones wait, if this door shows that.
    fn queue(&mut self, _session: &Session, _waits: &Waits) -> Option<String> {
        None
    }

    /// Says that a session is followed no more because there are too many, if this door shows that.
    fn left(&mut self, _session: &Session) -> Option<String> {
        None
    }

    /// Says what is new in the list of sessions, if this door shows that.
    fn sessions(&mut self, _news: &ListNews) -> Option<String> {
        None
    }

    /// Returns what the client may do now.
    fn scope(&self) -> Scope;

    /// Says that the log could not be written.
    fn failed(&mut self, session: &Session, message: &str) -> String;
}

/// A frame, and the update up to which the client has seen everything once it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Projected {
    pub(crate) text: Utf8Bytes,
    pub(crate) covers: u64,
    /// Bytes of the text of the update after that which the client has seen as well.
    pub(crate) part: usize,
}

/// The first update that is not shown in full, and how many bytes of its text are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HeldBack {
    pub(crate) seq: u64,
    pub(crate) part: usize,
}
