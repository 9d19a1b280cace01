//! Bounds of a piece of work: deadline, cancellation and progress.

use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// A deadline and a cancellation, checked together.
#[derive(Debug, Clone)]
pub struct Budget {
    deadline: Instant,
    cancel: CancellationToken,
}

impl Budget {
    /// Creates a budget that ends at `deadline` or on `cancel`, whichever comes first.
    pub fn new(deadline: Instant, cancel: CancellationToken) -> Self {
        Self { deadline, cancel }
    }

    /// Creates a budget of `time` from now, for work outside a tool call.
    pub fn within(time: Duration, cancel: &CancellationToken) -> Self {
        Self { deadline: Instant::now() + time, cancel: cancel.clone() }
    }

    /// Returns a budget with the same cancellation that ends within `time`, or with this one if that is sooner.
    pub fn sooner(&self, time: Duration) -> Self {
        Self { deadline: self.deadline.min(Instant::now() + time), cancel: self.cancel.clone() }
    }

    /// Returns whether the work should stop, for either reason.
    pub fn spent(&self) -> bool {
        self.cancel.is_cancelled() || Instant::now() >= self.deadline
    }

    /// Returns whether the deadline has passed.
    pub fn timed_out(&self) -> bool {
        Instant::now() >= self.deadline
    }

    /// Fails if the work was cancelled.
    pub fn check_cancelled(&self) -> Result<(), Cancelled> {
        if self.cancel.is_cancelled() { Err(Cancelled) } else { Ok(()) }
    }
}

/// The work was cancelled before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("Cancelled")]
pub struct Cancelled;

pub trait Progress: Send + Sync {
    /// Reports `done` of `total` units.
    fn report(&self, done: u64, total: u64);
}

/// Discards the reports.
impl Progress for () {
    fn report(&self, _done: u64, _total: u64) {}
}
