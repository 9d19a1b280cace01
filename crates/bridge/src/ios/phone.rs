//! What both halves of a connection of the app know: who it is, and what it has named.

use crate::{inspect::Line, sessions::Session};
use std::sync::{Arc, Mutex, PoisonError};

/// What both halves of a connection know.
#[derive(Debug)]
pub(super) struct Phone(Mutex<State>);

#[derive(Debug)]
pub(super) struct State {
    pub(super) own: Vec<Arc<str>>,
    last_named: Option<Arc<Session>>,
    pub(super) sets_modes: bool,
    /// Of this session, everything up to this number is news from before the connection.
    pub(super) fold_to: Option<(Arc<str>, u64)>,
}

impl Phone {
    pub(super) fn new(line: &Line) -> Self {
        let own = vec![line.id.clone()];
        Self(Mutex::new(State { own, last_named: None, sets_modes: false, fold_to: None }))
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

    pub(super) fn name(&self, session: &Arc<Session>) {
        self.with(|state| state.last_named = Some(session.clone()));
    }

    pub(super) fn last_named(&self) -> Option<Arc<Session>> {
        self.with(|state| state.last_named.clone())
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
            state.last_named = Some(session.clone());
            state.fold_to = Some((session.id().clone(), head));
        });
    }
}
