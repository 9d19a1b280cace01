//! The queue for the engine: one request at a time, in order of arrival.

use super::lock;
use openagents_core::CancellationToken;
use std::{
    collections::VecDeque,
    sync::{Condvar, Mutex, PoisonError},
    time::Duration,
};

/// Interval of checks for a cancel.
const LOOK: Duration = Duration::from_millis(25);

#[derive(Debug, Default)]
pub(super) struct Turns {
    line: Mutex<Line>,
    moved: Condvar,
}

#[derive(Debug, Default)]
struct Line {
    next: u64,
    /// The first ticket holds the engine.
    tickets: VecDeque<u64>,
}

/// Exclusive use of the engine until dropped.
#[derive(Debug)]
pub(super) struct Turn<'a> {
    turns: &'a Turns,
    ticket: u64,
}

impl Turns {
    /// Waits for a turn; `None` when cancelled. `on_wait` is called repeatedly during the wait.
    pub(super) fn take(&self, cancel: &CancellationToken, mut on_wait: impl FnMut()) -> Option<Turn<'_>> {
        let turn = self.enqueue();
        loop {
            if cancel.is_cancelled() {
                return None;
            }
            if self.is_first(turn.ticket) {
                return Some(turn);
            }
            // Not under the lock: it may block.
            on_wait();
            let line = lock(&self.line);
            if line.tickets.front() != Some(&turn.ticket) {
                drop(self.moved.wait_timeout(line, LOOK).unwrap_or_else(PoisonError::into_inner));
            }
        }
    }

    /// Takes the turn if it is free.
    pub(super) fn try_take(&self) -> Option<Turn<'_>> {
        let turn = self.enqueue();
        self.is_first(turn.ticket).then_some(turn)
    }

    fn enqueue(&self) -> Turn<'_> {
        let mut line = lock(&self.line);
        let ticket = line.next;
        line.next += 1;
        line.tickets.push_back(ticket);
        Turn { turns: self, ticket }
    }

    fn is_first(&self, ticket: u64) -> bool {
        lock(&self.line).tickets.front() == Some(&ticket)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        lock(&self.turns.line).tickets.retain(|ticket| *ticket != self.ticket);
        self.turns.moved.notify_all();
    }
}
