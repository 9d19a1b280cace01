//! The tokens of requests to a model, as agents count them.

use serde::Serialize;
use std::ops::AddAssign;

/// Tokens of the requests to a model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenUsage {
    /// Input neither read from a cache nor written to one.
    pub input: u64,
    /// Output, including thoughts.
    pub output: u64,
    /// Written to the provider's cache.
    pub cache_write: u64,
    /// Read from the provider's cache.
    pub cache_read: u64,
}

impl TokenUsage {
    /// Returns the number of all tokens.
    pub fn total(&self) -> u64 {
        self.input + self.output + self.cache_write + self.cache_read
    }
}

impl AddAssign for TokenUsage {
    fn add_assign(&mut self, other: Self) {
        self.input += other.input;
        self.output += other.output;
        self.cache_write += other.cache_write;
        self.cache_read += other.cache_read;
    }
}

/// The token usage of a request, from one line of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RequestUsage {
    /// A hash of the request's ids. Several lines report the same request, also in copies of a session; the last one is
    /// right.
    pub(crate) request: Option<u64>,
    pub(crate) tokens: TokenUsage,
}

/// Reads the usage from a line; `None` if it reports none.
pub(crate) type UsageOf = fn(&[u8]) -> Option<RequestUsage>;
