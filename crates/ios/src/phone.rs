//! State shared by the reading and writing half of a connection: its ids, and the sessions it has named.

use crate::projection::HeldBack;
use openagents_connection::inspect::Peer;
use openagents_sessions::Session;
use parking_lot::Mutex;
use std::{collections::VecDeque, sync::Arc};

/// Maximum number of sessions that a connection follows; the least recently named one is left first.
pub(super) const NAMED: usize = 64;

/// The position of a broken connection in the session it named last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Position {
    pub(super) session_id: Arc<str>,
    /// The last update fully written to the old socket.
    pub(super) written: u64,
    /// Bytes of the next update's text that were also written.
    pub(super) part: usize,
    /// Ids of the phone's connections. Their prompts are the phone's own.
    pub(super) own: Vec<Arc<str>>,
}

impl Position {
    /// Returns the written part of the update after [`Self::written`].
    pub(super) fn seen(&self) -> HeldBack {
        HeldBack { seq: self.written + 1, part: self.part }
    }
}

#[derive(Debug)]
pub(super) enum Naming {
    Again,
    First { instead_of: Option<Arc<Session>> },
}

#[derive(Debug)]
pub(super) struct Phone(Mutex<PhoneState>);

#[derive(Debug)]
pub(super) struct PhoneState {
    pub(super) own: Vec<Arc<str>>,
    /// Followed sessions, most recently named last.
    pub(super) named: VecDeque<Named>,
    pub(super) sets_modes: bool,
    /// A resumed session, and its last update before this connection.
    pub(super) fold_to: Option<(Arc<str>, u64)>,
    pub(super) taken: Option<Position>,
}

#[derive(Debug)]
pub(super) struct Named {
    pub(super) session: Arc<Session>,
    written: u64,
    part: usize,
}

impl Named {
    fn is(&self, session: &Session) -> bool {
        self.session.id() == session.id()
    }
}

impl Phone {
    pub(super) fn new(peer: &Peer) -> Self {
        let own = vec![peer.id.clone()];
        let named = VecDeque::new();
        Self(Mutex::new(PhoneState { own, named, sets_modes: false, fold_to: None, taken: None }))
    }

    pub(super) fn with<T>(&self, run: impl FnOnce(&mut PhoneState) -> T) -> T {
        run(&mut self.0.lock())
    }

    pub(super) fn id(&self) -> Arc<str> {
        self.with(|state| state.own.first().cloned().unwrap_or_else(|| "".into()))
    }

    pub(super) fn take(&self, position: Position) {
        self.with(|state| state.taken = Some(position));
    }

    pub(super) fn forget(&self) {
        self.with(|state| state.taken = None);
    }

    pub(super) fn has_position(&self) -> bool {
        self.with(|state| state.taken.is_some() || !state.named.is_empty())
    }

    pub(super) fn shows(&self, session_id: &str) -> bool {
        self.with(|state| {
            state.taken.as_ref().is_some_and(|taken| *taken.session_id == *session_id)
                || state.named.iter().any(|named| **named.session.id() == *session_id)
        })
    }

    /// Returns the position of a broken connection: in the session that it named last, or else the position it took over.
    pub(super) fn position(&self) -> Option<Position> {
        self.with(|state| {
            let taken = state.taken.as_ref();
            let Some(named) = state.named.iter().rev().find(|named| !named.session.is_deleted()) else {
                return taken.cloned();
            };
            let (session_id, written) = (named.session.id().clone(), named.written);
            // The part of the next update's text that the phone had seen before it reconnected.
            let before = taken.filter(|taken| taken.session_id == session_id && taken.written == written);
            let part = before.map_or(0, |before| before.part).max(named.part);
            Some(Position { session_id, written, part, own: state.own.clone() })
        })
    }

    /// Marks a session as named, and as seen up to `written`. Returns the session to leave if there are too many.
    pub(super) fn mark_named(&self, session: &Arc<Session>, written: u64) -> Naming {
        self.with(|state| {
            let known = state.named.iter().position(|named| named.is(session));
            if let Some(known) = known.and_then(|index| state.named.remove(index)) {
                state.named.push_back(known);
                return Naming::Again;
            }
            state.named.push_back(Named { session: session.clone(), written, part: 0 });
            let oldest = if state.named.len() > NAMED { state.named.pop_front() } else { None };
            Naming::First { instead_of: oldest.map(|named| named.session) }
        })
    }

    pub(super) fn wrote(&self, session: &Session, (written, part): (u64, usize)) {
        self.with(|state| {
            if let Some(named) = state.named.iter_mut().find(|named| named.is(session)) {
                (named.written, named.part) = (written, part);
            }
        });
    }

    pub(super) fn set_modes(&self) {
        self.with(|state| state.sets_modes = true);
    }

    /// Resumes the session of an earlier connection of the phone, which has seen it up to `written`. `own` are the ids
    /// of its connections.
    pub(super) fn resume(&self, session: &Arc<Session>, own: Vec<Arc<str>>, written: u64) {
        let head = session.head().seq;
        self.with(|state| {
            state.own.extend(own);
            // Bounds the list for a phone that reconnects again and again.
            state.own.truncate(32);
            state.named.retain(|named| !named.is(session));
            state.named.push_back(Named { session: session.clone(), written, part: 0 });
            state.fold_to = Some((session.id().clone(), head));
        });
    }
}
