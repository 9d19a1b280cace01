//! The latencies of updates.

use serde::{Deserialize, Serialize};

/// The result that readers report at the end.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Latencies {
    /// In milliseconds, like the next two fields.
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    pub(crate) max: f64,
    /// Updates that did not arrive, or arrived out of order.
    pub(crate) wrong: f64,
    /// CPU seconds of the readers.
    pub(crate) cpu: f64,
}

impl Latencies {
    /// Summarizes latencies given in microseconds.
    pub(crate) fn from_micros(mut micros: Vec<u32>, wrong: u64, cpu: f64) -> Self {
        micros.sort_unstable();
        let at = |part: f64| {
            let last = micros.len().saturating_sub(1);
            micros.get((last as f64 * part) as usize).map_or(f64::NAN, |micros| f64::from(*micros) / 1000.0)
        };
        Self { p50: at(0.5), p99: at(0.99), max: at(1.0), wrong: wrong as f64, cpu }
    }
}
