//! How many tokens of a prompt are read between two looks at the cancel. Pure: times in, sizes out.

use std::time::Duration;

/// What is read before anything is known. On a processor 64 at once are as fast as 512, and 16 are a sixth slower
/// (llama-bench on SmolLM2, one thread).
const FIRST: usize = 64;
const LEAST: usize = 8;
const MOST: usize = 256;

/// Pieces that take less grow: a graphics processor wants more at once.
const SHORT: Duration = Duration::from_millis(25);

/// Pieces that take longer shrink: the client ends a helper that does not notice a cancel for two seconds, and the model
/// with it.
const LONG: Duration = Duration::from_secs(1);

/// See the module.
#[derive(Debug)]
pub(crate) struct Pace {
    piece: usize,
    most: usize,
}

impl Pace {
    /// Never reads more than `batch` tokens at once.
    pub(crate) fn new(batch: usize) -> Self {
        let most = batch.clamp(1, MOST);
        Self { piece: FIRST.min(most), most }
    }

    /// Returns how many tokens to read next.
    pub(crate) fn piece(&self) -> usize {
        self.piece
    }

    /// Returns how many tokens a piece can have at the most.
    pub(crate) fn most(&self) -> usize {
        self.most
    }

    /// Learns how long so many tokens took.
    pub(crate) fn learn(&mut self, tokens: usize, time: Duration) {
        if tokens != self.piece {
            // The rest of a prompt.
            return;
        }
        if time > LONG {
            self.piece = (self.piece / 2).max(LEAST.min(self.most));
        } else if time < SHORT {
            self.piece = (self.piece * 2).min(self.most);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a long prompt where a piece costs `each` ms and `token` ms for each of its tokens.
    fn settled(batch: usize, each: f64, token: f64) -> usize {
        let mut pace = Pace::new(batch);
        for _ in 0..20 {
            let time = each + token * pace.piece() as f64;
            pace.learn(pace.piece(), Duration::from_secs_f64(time / 1e3));
        }
        pace.piece()
    }

    #[test]
    fn pieces_are_as_large_as_a_cancel_allows() {
        let rows = [
            ("a fast machine", 512, 1.0, 0.01, 256),
            ("a fast machine with small batches", 100, 1.0, 0.01, 100),
            ("a very small batch", 1, 1.0, 0.01, 1),
            ("smaller pieces would only be slower", 512, 0.0, 7.0, 64),
            ("a cancel has to be noticed", 512, 0.0, 20.0, 32),
            ("weights are read for each piece", 512, 600.0, 20.0, 16),
            ("nothing helps", 512, 5000.0, 0.0, 8),
        ];
        for (row, batch, each, token, expected) in rows {
            assert_eq!(settled(batch, each, token), expected, "{row}");
        }
    }

    #[test]
    fn the_rest_of_a_prompt_teaches_nothing() {
        let mut pace = Pace::new(512);
        pace.learn(3, Duration::from_secs(9));
        assert_eq!(pace.piece(), 64);
    }
}
