//! What both halves of a connection of the app know: who it is, and what it has named.

use super::resume::Position;
use crate::{inspect::Line, outbox::Follow};
use openagents_sessions::Session;
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

/// Sessions that a connection follows; the one that was not named for longest makes room.
pub(super) const NAMED: usize = 64;

/// What naming a session means.
#[derive(Debug)]
pub(super) enum Naming {
    Again,
    First { instead_of: Option<Arc<Session>> },
}

/// What both halves of a connection know.
#[derive(Debug)]
pub(super) struct Phone(Mutex<State>);

#[derive(Debug)]
pub(super) struct State {
    pub(super) own: Vec<Arc<str>>,
    /// The sessions that it gets updates of; the one that it named last is the last.
    pub(super) named: VecDeque<Arc<Session>>,
    pub(super) sets_modes: bool,
    /// Of this session, everything up to this number is news from before the connection.
    pub(super) fold_to: Option<(Arc<str>, u64)>,
    /// Where an earlier connection of the same phone was.
    pub(super) taken: Option<Position>,
}

impl Phone {
    pub(super) fn new(line: &Line) -> Self {
        let own = vec![line.id.clone()];
        let named = VecDeque::new();
        Self(Mutex::new(State { own, named, sets_modes: false, fold_to: None, taken: None }))
    }

    pub(super) fn with<T>(&self, look: impl FnOnce(&mut State) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the id of this connection.
    pub(super) fn id(&self) -> Arc<str> {
        self.with(|state| state.own.first().cloned().unwrap_or_else(|| "".into()))
    }

    /// Remembers where an earlier connection of the same phone was.
    pub(super) fn take(&self, place: Position) {
        self.with(|state| state.taken = Some(place));
    }

    /// There is nothing any more where it was.
    pub(super) fn forget(&self) {
        self.with(|state| state.taken = None);
    }

    /// Returns whether it would leave a place.
    pub(super) fn has_place(&self) -> bool {
        self.with(|state| state.taken.is_some() || !state.named.is_empty())
    }

    /// Returns whether it gets updates of a session.
    pub(super) fn shows(&self, session_id: &str) -> bool {
        self.with(|state| {
            state.taken.as_ref().is_some_and(|taken| *taken.session_id == *session_id)
                || state.named.iter().any(|named| **named.id() == *session_id)
        })
    }

    /// Returns where the connection was when it broke: in the session that it named last of those that it followed. What
    /// was taken over from an earlier one and not followed yet is left for the next one.
    pub(super) fn place(&self, follows: &[Follow]) -> Option<Position> {
        self.with(|state| {
            let (own, taken) = (&state.own, state.taken.as_ref());
            let place = |session: &Arc<Session>| {
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
            state.named.iter().rev().find_map(place).or_else(|| taken.cloned())
        })
    }

    /// Remembers that a session was named. Returns the one that it is no longer to follow, when there are too many.
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

    /// Takes up where an earlier connection of the same phone was.
    pub(super) fn resume(&self, session: &Arc<Session>, own: Vec<Arc<str>>) {
        let head = session.head().seq;
        self.with(|state| {
            state.own.extend(own);
            // A phone that breaks again and again has still only so many lives.
            state.own.truncate(32);
            state.named.retain(|known| known.id() != session.id());
            state.named.push_back(session.clone());
            state.fold_to = Some((session.id().clone(), head));
        });
    }
}
