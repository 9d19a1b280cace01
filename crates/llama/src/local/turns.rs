//! The queue for the engine: one request at a time, in order of arrival.

use crate::limits::CANCEL_CHECK;
use openagents_core::CancellationToken;
use std::{
    pin::pin,
    task::{Context, Poll, Waker},
};
use tokio::sync::{Semaphore, SemaphorePermit};

#[derive(Debug)]
pub(super) struct Turns(Semaphore);

/// Exclusive use of the engine until dropped.
pub(super) type Turn<'a> = SemaphorePermit<'a>;

impl Default for Turns {
    fn default() -> Self {
        Self(Semaphore::new(1))
    }
}

impl Turns {
    /// Waits for a turn; `None` when cancelled. `on_wait` is called repeatedly during the wait.
    pub(super) fn take(&self, cancel: &CancellationToken, mut on_wait: impl FnMut()) -> Option<Turn<'_>> {
        // Keeps its place in the queue while it waits.
        let mut turn = pin!(self.0.acquire());
        let mut context = Context::from_waker(Waker::noop());
        while !cancel.is_cancelled() {
            if let Poll::Ready(turn) = turn.as_mut().poll(&mut context) {
                return turn.ok();
            }
            on_wait();
            std::thread::sleep(CANCEL_CHECK);
        }
        None
    }

    pub(super) fn try_take(&self) -> Option<Turn<'_>> {
        self.0.try_acquire().ok()
    }
}
