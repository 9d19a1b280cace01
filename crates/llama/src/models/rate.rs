//! Bytes a second over the last seconds.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

const WINDOW: Duration = Duration::from_secs(5);

/// Takes a count now and then, and says how fast it grew lately.
#[derive(Debug, Default)]
pub(super) struct Rate {
    samples: VecDeque<(Instant, u64)>,
}

impl Rate {
    pub(super) fn push(&mut self, now: Instant, done: u64) -> u64 {
        self.samples.push_back((now, done));
        while self.samples.len() > 2 && self.samples.front().is_some_and(|(then, _)| now - *then > WINDOW) {
            self.samples.pop_front();
        }
        let Some((then, before)) = self.samples.front() else { return 0 };
        let millis = u64::try_from((now - *then).as_millis()).unwrap_or(u64::MAX);
        (done.saturating_sub(*before).saturating_mul(1_000)).checked_div(millis).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_seconds_count() {
        let start = Instant::now();
        let at = |millis: u64| start + Duration::from_millis(millis);
        let mut rate = Rate::default();
        assert_eq!(rate.push(at(0), 0), 0);
        assert_eq!(rate.push(at(1_000), 500), 500);
        assert_eq!(rate.push(at(2_000), 2_000), 1_000);
        assert_eq!(rate.push(at(60_000), 2_000), 0);
        assert_eq!(rate.push(at(61_000), 4_000), 2_000);
    }
}
