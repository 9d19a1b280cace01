//! The number of prompt tokens computed between two cancellation checks. Pure: durations in, sizes out.

use crate::limits::{FIRST_CHUNK, LEAST_CHUNK, LONG_CHUNK, MOST_CHUNK, SHORT_CHUNK};
use std::time::Duration;

#[derive(Debug)]
pub(crate) struct PrefillChunk {
    size: usize,
    max: usize,
}

impl PrefillChunk {
    /// Creates a chunk size of at most `batch` tokens.
    pub(crate) fn new(batch: usize) -> Self {
        let max = batch.clamp(1, MOST_CHUNK);
        Self { size: FIRST_CHUNK.min(max), max }
    }

    pub(crate) fn size(&self) -> usize {
        self.size
    }

    pub(crate) fn max(&self) -> usize {
        self.max
    }

    /// Adapts the size to the time that a chunk took.
    pub(crate) fn learn(&mut self, tokens: usize, time: Duration) {
        if tokens != self.size {
            // The last chunk of a prompt is shorter.
            return;
        }
        if time > LONG_CHUNK {
            self.size = (self.size / 2).max(LEAST_CHUNK.min(self.max));
        } else if time < SHORT_CHUNK {
            self.size = (self.size * 2).min(self.max);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the chunk size after a long prompt in which a chunk takes `each` ms plus `token` ms per token.
    fn settled(batch: usize, each: f64, token: f64) -> usize {
        let mut chunk = PrefillChunk::new(batch);
        for _ in 0..20 {
            let time = each + token * chunk.size() as f64;
            chunk.learn(chunk.size(), Duration::from_secs_f64(time / 1e3));
        }
        chunk.size()
    }

    #[test]
    fn chunks_are_as_large_as_a_cancel_allows() {
        let rows = [
            ("a fast machine", 512, 1.0, 0.01, 256),
            ("a fast machine with small batches", 100, 1.0, 0.01, 100),
            ("a very small batch", 1, 1.0, 0.01, 1),
            ("smaller chunks would only be slower", 512, 0.0, 7.0, 64),
            ("a cancel has to be noticed", 512, 0.0, 20.0, 32),
            ("weights are read for each chunk", 512, 600.0, 20.0, 16),
            ("nothing helps", 512, 5000.0, 0.0, 8),
        ];
        for (row, batch, each, token, expected) in rows {
            assert_eq!(settled(batch, each, token), expected, "{row}");
        }
    }

    #[test]
    fn the_last_chunk_is_ignored() {
        let mut chunk = PrefillChunk::new(512);
        chunk.learn(3, Duration::from_secs(9));
        assert_eq!(chunk.size(), 64);
    }
}
