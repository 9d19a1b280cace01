//! What both halves of a connection of the app know: who it is, and what it has named.

use crate::{inspect::Line, sessions::Session};
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
}

impl Phone {
    pub(super) fn new(line: &Line) -> Self {
        let own = vec![line.id.clone()];
        Self(Mutex::new(State { own, named: VecDeque::new(), sets_modes: false, fold_to: None }))
    }

    pub(super) fn with<T>(&self, look: impl FnOnce(&mut State) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the id of this connection.
    pub(super) fn id(&self) -> Arc<str> {
        self.with(|state| state.own.first().cloned().unwrap_or_else(|| "".into()))
    }

    pub(super) fn own(&self) -> Vec<Arc<str>> {
        self.with(|state| state.own.clone())
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

    pub(super) fn last_named(&self) -> Option<Arc<Session>> {
        self.with(|state| state.named.back().cloned())
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
