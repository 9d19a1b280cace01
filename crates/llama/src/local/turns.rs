//! The queue for the engine: one request at a time, in order of arrival.

use crate::limits::CANCEL_CHECK;
use openagents_core::CancellationToken;
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;

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
            let mut line = self.line.lock();
            if line.tickets.front() != Some(&turn.ticket) {
                self.moved.wait_for(&mut line, CANCEL_CHECK);
            }
        }
    }

    /// Takes the turn if it is free.
    pub(super) fn try_take(&self) -> Option<Turn<'_>> {
        let turn = self.enqueue();
        self.is_first(turn.ticket).then_some(turn)
    }

    fn enqueue(&self) -> Turn<'_> {
        let mut line = self.line.lock();
        let ticket = line.next;
        line.next += 1;
        line.tickets.push_back(ticket);
        Turn { turns: self, ticket }
    }

    fn is_first(&self, ticket: u64) -> bool {
        self.line.lock().tickets.front() == Some(&ticket)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.turns.line.lock().tickets.retain(|ticket| *ticket != self.ticket);
        self.turns.moved.notify_all();
    }
}
