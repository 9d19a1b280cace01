//! Reports that replace each other, at intervals: an agent may change its mind a thousand times a second.

use crate::limits::STATE_INTERVAL;
use std::{
    collections::HashMap,
    hash::Hash,
    time::{Duration, Instant},
};

/// The newest value of each key that is not reported yet.
#[derive(Debug)]
pub(crate) struct Newest<K, V> {
    waiting: Vec<(K, V)>,
    /// When each key was last reported, and the interval after it.
    reported: HashMap<K, (Instant, Duration)>,
}

impl<K, V> Default for Newest<K, V> {
    fn default() -> Self {
        Self { waiting: Vec::new(), reported: HashMap::new() }
    }
}

impl<K: Clone + Eq + Hash, V> Newest<K, V> {
    pub(crate) fn record(&mut self, key: K, value: V) {
        self.waiting.retain(|(known, _)| *known != key);
        self.waiting.push((key, value));
    }

    /// Makes a key due.
    pub(crate) fn expedite(&mut self, key: &K) {
        self.reported.remove(key);
    }

    /// Makes everything due.
    pub(crate) fn flush(&mut self) {
        self.reported.clear();
    }

    /// Takes the values that are due. The interval after a value begins with `first`, and doubles with each report up to
    /// [`STATE_INTERVAL`].
    pub(crate) fn take(&mut self, now: Instant, first: impl Fn(&V) -> Duration) -> Vec<V> {
        if self.waiting.is_empty() {
            return Vec::new();
        }
        let is_due = |(key, _): &(K, V)| {
            self.reported.get(key).is_none_or(|(last, interval)| now >= *last + *interval)
        };
        let (due, waiting): (Vec<_>, Vec<_>) = self.waiting.drain(..).partition(is_due);
        self.waiting = waiting;
        self.reported.retain(|_, (last, _)| now < *last + STATE_INTERVAL);
        let report = |(key, value): (K, V)| {
            let last = self.reported.get(&key);
            let interval =
                last.map_or_else(|| first(&value), |(_, interval)| (*interval * 2).min(STATE_INTERVAL));
            self.reported.insert(key, (now, interval));
            value
        };
        due.into_iter().map(report).collect()
    }

    /// Returns when the next value is due.
    pub(crate) fn due(&self) -> Option<Instant> {
        let due = |(key, _): &(K, V)| self.reported.get(key).map(|(last, interval)| *last + *interval);
        self.waiting.iter().filter_map(due).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::FIRST_STATE_INTERVAL;

    #[test]
    fn many_values_become_few() {
        let (mut news, begin) = (Newest::default(), Instant::now());
        let mut reported = Vec::new();
        for at in 0..1_000_u32 {
            news.record("usage", at);
            reported.extend(news.take(begin + STATE_INTERVAL * at / 500, |_| STATE_INTERVAL));
        }
        assert_eq!(reported, [0, 500]);
        news.flush();
        assert_eq!(news.take(begin, |_| STATE_INTERVAL), [999]);
        news.record("commands", 1);
        news.record("usage", 7);
        assert_eq!(news.take(begin, |_| STATE_INTERVAL), [1], "each key has its own interval");
        assert!(news.take(begin, |_| STATE_INTERVAL).is_empty());
    }

    #[test]
    fn values_are_reported_at_once_and_seldom_if_they_change_often() {
        let (mut news, begin) = (Newest::default(), Instant::now());
        let mut reported = Vec::new();
        for at in 0..20_000_u32 {
            let now = begin + Duration::from_millis(at.into());
            if at < 10_000 || at == 19_000 || at == 19_500 {
                news.record("options", ());
            }
            reported.extend(news.take(now, |()| FIRST_STATE_INTERVAL).iter().map(|()| at));
        }
        assert_eq!(reported, [0, 100, 300, 700, 1_500, 3_100, 6_300, 11_300, 19_000, 19_500]);
    }
}
