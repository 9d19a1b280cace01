//! Deadlines that also pass while the computer sleeps.

use openagents_sessions::store::now_ms;
use std::time::Duration;
use tokio::time::Instant;

/// Interval between checks of the wall clock.
const CHECK_EVERY: Duration = Duration::from_secs(10);

/// A deadline on two clocks; it passes when either clock reaches it. The monotonic clock stops during sleep, and the
/// wall clock can be set.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline {
    instant: Instant,
    /// Milliseconds since the epoch.
    pub(crate) at: i64,
}

impl Deadline {
    pub(crate) fn after(wait: Duration) -> Self {
        let wait_ms = i64::try_from(wait.as_millis()).unwrap_or(i64::MAX);
        Self { instant: Instant::now() + wait, at: now_ms().saturating_add(wait_ms) }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.is_over_at(now_ms())
    }

    fn is_over_at(&self, now: i64) -> bool {
        self.instant <= Instant::now() || self.at <= now
    }

    /// Resolves when the deadline has passed, up to ten seconds late after sleep.
    pub(crate) async fn passed(&self) {
        while !self.is_over() {
            tokio::time::sleep_until(self.instant.min(Instant::now() + CHECK_EVERY)).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn deadlines_pass_during_sleep() {
        let deadline = Deadline::after(Duration::from_secs(300));
        assert!(!deadline.is_over_at(deadline.at - 1));
        // Asleep: only the wall clock advanced.
        assert!(deadline.is_over_at(deadline.at));
        // The wall clock was set back.
        tokio::time::advance(Duration::from_secs(300)).await;
        assert!(deadline.is_over_at(0));
    }
}
