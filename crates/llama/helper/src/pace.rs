//! How many tokens of a prompt are read between two looks at the cancel. Pure: times in, sizes out.

use std::time::Duration;

/// What is read before anything is known.
const FIRST: usize = 64;
const LEAST: usize = 8;
const MOST: usize = 256;

/// How long a piece should take.
const AIM: Duration = Duration::from_millis(50);

/// How long a piece may take whatever smaller ones cost: the client ends a helper that does not notice a cancel for
/// two seconds, and the model with it.
const LONGEST: Duration = Duration::from_secs(1);

/// A smaller piece may have this share of the speed of a larger one; a large model reads its weights once for each.
const WORTH: f64 = 0.9;

/// See the module. Grows and shrinks by halves, as the pieces take.
#[derive(Debug)]
pub(crate) struct Pace {
    piece: usize,
    most: usize,
    /// Smaller ones have been tried, and are slower.
    least: usize,
    /// The larger piece before this one, and its tokens in a second.
    larger: Option<(usize, f64)>,
}

impl Pace {
    /// Never reads more than `batch` tokens at once.
    pub(crate) fn new(batch: usize) -> Self {
        let most = batch.clamp(1, MOST);
        Self { piece: FIRST.min(most), most, least: LEAST, larger: None }
    }

    /// Always reads the same number, however long that takes.
    #[cfg(test)]
    pub(crate) fn steady() -> Self {
        Self { least: FIRST, ..Self::new(FIRST) }
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
        let speed = tokens as f64 / time.as_secs_f64().max(1e-9);
        if let Some((larger, before)) = self.larger.take()
            && speed < before * WORTH
        {
            (self.piece, self.least) = (larger, larger);
            return;
        }
        let half = self.piece / 2;
        if half >= LEAST && (time > LONGEST || (time > AIM * 3 / 2 && half >= self.least)) {
            self.larger = (time <= LONGEST).then_some((self.piece, speed));
            self.piece = half;
        } else if time < AIM / 2 {
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
    fn a_piece_took_as_long_as_it_took_on_a_slow_machine() {
        let rows = [
            ("a fast machine", 512, 1.0, 0.01, 256),
            ("a fast machine with small batches", 100, 1.0, 0.01, 100),
            ("a very small batch", 1, 1.0, 0.01, 1),
            ("as it was", 512, 0.0, 0.8, 64),
            ("a slow machine", 512, 0.0, 3.0, 16),
            ("a very slow machine", 512, 0.0, 20.0, 8),
            ("weights are read for each piece: smaller ones would only be slower", 512, 600.0, 2.0, 64),
            ("but a cancel has to be noticed", 512, 600.0, 20.0, 16),
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
