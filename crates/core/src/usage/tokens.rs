//! The tokens of a request.

use serde::{Deserialize, Serialize};
use std::ops::AddAssign;

/// The tokens of a request, or of many. The first five counts are disjoint and add up to all tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ts_rs::TS)]
#[serde(rename_all = "camelCase")]
pub struct Tokens {
    /// Input that was neither read from a cache nor written to one.
    #[ts(type = "number")]
    pub input: u64,
    #[ts(type = "number")]
    pub cache_read: u64,
    /// Written to a cache that lasts minutes.
    #[ts(type = "number")]
    pub cache_write: u64,
    /// Written to a cache that lasts an hour.
    #[serde(rename = "cacheWrite1h")]
    #[ts(type = "number")]
    pub cache_write_1h: u64,
    #[ts(type = "number")]
    pub output: u64,
    /// The part of the output that is reasoning.
    #[ts(type = "number")]
    pub reasoning: u64,
}

impl Tokens {
    /// Returns the number of all tokens.
    pub fn total(&self) -> u64 {
        self.prompt().saturating_add(self.output)
    }

    /// Returns the number of tokens that the model read.
    pub fn prompt(&self) -> u64 {
        let parts = [self.cache_read, self.cache_write, self.cache_write_1h];
        parts.into_iter().fold(self.input, u64::saturating_add)
    }

    /// Returns the larger of each count.
    pub fn largest(self, other: Self) -> Self {
        self.each(other, u64::max)
    }

    /// Returns the counts, each cut to `most`.
    pub fn at_most(self, most: u64) -> Self {
        let most = Self {
            input: most,
            cache_read: most,
            cache_write: most,
            cache_write_1h: most,
            output: most,
            reasoning: most,
        };
        self.each(most, u64::min)
    }

    fn each(self, other: Self, count: fn(u64, u64) -> u64) -> Self {
        Self {
            input: count(self.input, other.input),
            cache_read: count(self.cache_read, other.cache_read),
            cache_write: count(self.cache_write, other.cache_write),
            cache_write_1h: count(self.cache_write_1h, other.cache_write_1h),
            output: count(self.output, other.output),
            reasoning: count(self.reasoning, other.reasoning),
        }
    }
}

impl AddAssign for Tokens {
    fn add_assign(&mut self, other: Self) {
        *self = self.each(other, u64::saturating_add);
    }
}
