//! Progress of a download, at a readable rate.

use crate::limits::{PROGRESS, SPEED_WINDOW};
use std::{collections::VecDeque, time::Instant};

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Progress {
    Bytes {
        done: u64,
        total: u64,
        /// Bytes per second, averaged over the last seconds.
        per_second: u64,
    },
    /// The hash is being computed, 0.0 to 1.0.
    Verifying(f32),
}

/// Reports progress at most four times a second.
pub(super) struct ProgressMeter<'a> {
    rate: Rate,
    last: Option<Instant>,
    on_progress: &'a mut dyn FnMut(Progress),
}

impl<'a> ProgressMeter<'a> {
    pub(super) fn new(on_progress: &'a mut dyn FnMut(Progress)) -> Self {
        Self { rate: Rate::default(), last: None, on_progress }
    }

    pub(super) fn bytes(&mut self, done: u64, total: u64) {
        if self.is_due() || done == total {
            self.bytes_at_rest(done, total);
        }
    }

    /// Reports the bytes before a wait without further reports.
    pub(super) fn bytes_at_rest(&mut self, done: u64, total: u64) {
        let per_second = self.rate.push(Instant::now(), done);
        (self.on_progress)(Progress::Bytes { done, total, per_second });
    }

    pub(super) fn verifying(&mut self, share: f32) {
        if self.is_due() {
            (self.on_progress)(Progress::Verifying(share));
        }
    }

    fn is_due(&mut self) -> bool {
        let due = self.last.is_none_or(|last| last.elapsed() >= PROGRESS);
        if due {
            self.last = Some(Instant::now());
        }
        due
    }
}

/// Measures the growth rate of a counter from samples.
#[derive(Debug, Default)]
struct Rate {
    samples: VecDeque<(Instant, u64)>,
}

impl Rate {
    fn push(&mut self, now: Instant, done: u64) -> u64 {
        self.samples.push_back((now, done));
        while self.samples.len() > 2
            && self.samples.front().is_some_and(|(then, _)| now - *then > SPEED_WINDOW)
        {
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
    use std::time::Duration;

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
