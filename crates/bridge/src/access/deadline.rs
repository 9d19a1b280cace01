//! When something is over, though the computer may sleep until then.

use openagents_sessions::store::now_ms;
use std::time::Duration;
use tokio::time::Instant;

/// The clock of a computer that slept is looked at this often.
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// Over when either clock says so: one does not run while the computer sleeps, the other one can be set.
#[derive(Debug, Clone, Copy)]
pub(super) struct Deadline {
    instant: Instant,
    /// Milliseconds since the epoch.
    pub(super) at: i64,
}

impl Deadline {
    pub(super) fn after(wait: Duration) -> Self {
        let wait_ms = i64::try_from(wait.as_millis()).unwrap_or(i64::MAX);
        Self { instant: Instant::now() + wait, at: now_ms().saturating_add(wait_ms) }
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_over_at(now_ms())
    }

    fn is_over_at(&self, now: i64) -> bool {
        self.instant <= Instant::now() || self.at <= now
    }

    /// Resolves when it is over; after a sleep a little later.
    pub(super) async fn passed(&self) {
        while !self.is_over() {
            tokio::time::sleep_until(self.instant.min(Instant::now() + LOOK_EVERY)).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Five minutes were five minutes of a computer that was awake.
    #[tokio::test(start_paused = true)]
    async fn time_runs_while_the_computer_sleeps() {
        let deadline = Deadline::after(Duration::from_secs(300));
        assert!(!deadline.is_over_at(deadline.at - 1));
        // It slept: only the clock on the wall went on.
        assert!(deadline.is_over_at(deadline.at));
        // Somebody set that back.
        tokio::time::advance(Duration::from_secs(300)).await;
        assert!(deadline.is_over_at(0));
    }
}
