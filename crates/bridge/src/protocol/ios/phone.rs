//! State services by the reading and writing half of a connection: its ids, and the sessions it has named.

use crate::{
    connection::inspect::Line, connection::outbox::dialect::HeldBack, connection::outbox::following::Follow,
};
use openagents_sessions::Session;
use parking_lot::Mutex;
use std::{collections::VecDeque, sync::Arc};

/// Sessions that a connection follows; the least recently named one is left first.
pub(super) const NAMED: usize = 64;

/// The position of a broken connection in the session it named last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Position {
    pub(super) session_id: Arc<str>,
    /// The last update fully written to the old socket.
    pub(super) written: u64,
    /// Bytes of the next update's text that were also written.
    pub(super) part: usize,
    /// Ids of the phone's connections, whose prompts are its own.
    pub(super) own: Vec<Arc<str>>,
}

impl Position {
    /// Returns the written part of the update after [`Self::written`].
    pub(super) fn seen(&self) -> HeldBack {
        HeldBack { seq: self.written + 1, part: self.part }
    }
}

/// The effect of naming a session.
#[derive(Debug)]
pub(super) enum Naming {
    Again,
    First { instead_of: Option<Arc<Session>> },
}

/// State services by both halves of a connection.
#[derive(Debug)]
pub(super) struct Phone(Mutex<State>);

#[derive(Debug)]
pub(super) struct State {
    pub(super) own: Vec<Arc<str>>,
    /// Followed sessions, most recently named last.
    pub(super) named: VecDeque<Arc<Session>>,
    pub(super) sets_modes: bool,
    /// A resumed session, and the last update from before the connection.
    pub(super) fold_to: Option<(Arc<str>, u64)>,
    /// Position of an earlier connection of the same phone.
    pub(super) taken: Option<Position>,
}

impl Phone {
    pub(super) fn new(line: &Line) -> Self {
        let own = vec![line.id.clone()];
        let named = VecDeque::new();
        Self(Mutex::new(State { own, named, sets_modes: false, fold_to: None, taken: None }))
    }

    pub(super) fn with<T>(&self, look: impl FnOnce(&mut State) -> T) -> T {
        look(&mut self.0.lock())
    }

    /// Returns the id of this connection.
    pub(super) fn id(&self) -> Arc<str> {
        self.with(|state| state.own.first().cloned().unwrap_or_else(|| "".into()))
    }

    /// Takes over the position of an earlier connection of the same phone.
    pub(super) fn take(&self, position: Position) {
        self.with(|state| state.taken = Some(position));
    }

    /// Drops the position that was taken over.
    pub(super) fn forget(&self) {
        self.with(|state| state.taken = None);
    }

    /// Returns whether it has a position to save.
    pub(super) fn has_position(&self) -> bool {
        self.with(|state| state.taken.is_some() || !state.named.is_empty())
    }

    /// Returns whether it follows a session.
    pub(super) fn shows(&self, session_id: &str) -> bool {
        self.with(|state| {
            state.taken.as_ref().is_some_and(|taken| *taken.session_id == *session_id)
                || state.named.iter().any(|named| **named.id() == *session_id)
        })
    }

    /// Returns the position of a broken connection: in the most recently named session that it followed, or else the
    /// position it took over.
    pub(super) fn position(&self, follows: &[Follow]) -> Option<Position> {
        self.with(|state| {
            let (own, taken) = (&state.own, state.taken.as_ref());
            let position = |session: &Arc<Session>| {
                let before = taken.filter(|taken| taken.session_id == *session.id());
                let Some(follow) = follows.iter().find(|follow| Arc::ptr_eq(&follow.session, session)) else {
                    return before.cloned();
                };
                let (written, mut part) = (follow.written, follow.part);
                if let Some(before) = before.filter(|before| before.written == written) {
                    part = part.max(before.part);
                }
                Some(Position { session_id: session.id().clone(), written, part, own: own.clone() })
            };
            state.named.iter().rev().find_map(position).or_else(|| taken.cloned())
        })
    }

    /// Marks a session as named. Returns the one to leave when there are too many.
    pub(super) fn name(&self, session: &Arc<Session>) -> Naming {
        self.with(|state| {
            let known = state.named.iter().position(|known| known.id() == session.id());
            if let Some(known) = known.and_then(|index| state.named.remove(index)) {
                state.named.push_back(known);
                return Naming::Again;
            }
            state.named.push_back(session.clone());
            let too_many = state.named.len() > NAMED;
            Naming::First { instead_of: too_many.then(|| state.named.pop_front()).flatten() }
        })
    }

    pub(super) fn set_modes(&self) {
        self.with(|state| state.sets_modes = true);
    }

    /// Resumes the session of an earlier connection with the ids `own`.
    pub(super) fn resume(&self, session: &Arc<Session>, own: Vec<Arc<str>>) {
        let head = session.head().seq;
        self.with(|state| {
            state.own.extend(own);
            // Bounds the list for a phone that reconnects again and again.
            state.own.truncate(32);
            state.named.retain(|known| known.id() != session.id());
            state.named.push_back(session.clone());
            state.fold_to = Some((session.id().clone(), head));
        });
    }
}
