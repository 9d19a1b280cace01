//! Delays of refusals, which grow with each failure of an address.

use crate::admission::one_address;
use parking_lot::Mutex;
use std::{collections::HashMap, net::IpAddr, time::Duration};
use tokio::time::Instant;

/// Delay of the first failure; it doubles with each further one.
const FIRST_DELAY: Duration = Duration::from_millis(100);
const MAX_DELAY: Duration = Duration::from_secs(5);
/// Time without failures after which an address starts over.
const FORGET: Duration = Duration::from_secs(60);
/// Maximum number of addresses that are counted; further ones get [`MAX_DELAY`].
const ADDRESSES: usize = 1024;

/// Backs off per address after failures. A valid token is never delayed.
#[derive(Debug, Default)]
pub(crate) struct BackOff(Mutex<HashMap<IpAddr, (u32, Instant)>>);

impl BackOff {
    /// Counts a failure of `address` and returns the delay of the refusal.
    pub(crate) fn failed(&self, address: IpAddr) -> Duration {
        let (now, address) = (Instant::now(), one_address(address));
        let mut failures = self.0.lock();
        if failures.len() >= ADDRESSES && !failures.contains_key(&address) {
            failures.retain(|_, (_, last)| now.duration_since(*last) < FORGET);
            if failures.len() >= ADDRESSES {
                return MAX_DELAY;
            }
        }
        let (count, last) = failures.entry(address).or_insert((0, now));
        if now.duration_since(*last) >= FORGET {
            *count = 0;
        }
        let delay = FIRST_DELAY.saturating_mul(1 << (*count).min(16)).min(MAX_DELAY);
        (*count, *last) = (count.saturating_add(1), now);
        delay
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn delays_double_with_each_failure() {
        let (back_off, address) = (BackOff::default(), IpAddr::from([127, 0, 0, 1]));
        let delays: Vec<u128> = (0..8).map(|_| back_off.failed(address).as_millis()).collect();
        assert_eq!(delays, [100, 200, 400, 800, 1600, 3200, 5000, 5000]);
        // An IPv4-mapped IPv6 address is the same address.
        assert_eq!(back_off.failed("::ffff:127.0.0.1".parse().unwrap()), MAX_DELAY);
        assert_eq!(back_off.failed(IpAddr::from([127, 0, 0, 2])), FIRST_DELAY);
        tokio::time::advance(FORGET).await;
        assert_eq!(back_off.failed(address), FIRST_DELAY);
    }

    #[tokio::test(start_paused = true)]
    async fn failures_of_many_addresses_do_not_fill_the_memory() {
        let back_off = BackOff::default();
        let address = |n: u32| IpAddr::from((0x0A00_0000 + n).to_be_bytes());
        for n in 0..ADDRESSES as u32 {
            assert_eq!(back_off.failed(address(n)), FIRST_DELAY);
        }
        assert_eq!(back_off.failed(address(1 << 20)), MAX_DELAY);
        assert_eq!(back_off.failed(address(0)), FIRST_DELAY * 2);
        assert_eq!(back_off.0.lock().len(), ADDRESSES);
        tokio::time::advance(FORGET).await;
        assert_eq!(back_off.failed(address(1 << 20)), FIRST_DELAY);
    }
}
