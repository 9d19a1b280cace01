//! Joins the deltas of a stream: the first is emitted immediately, those within the next 25 ms are joined.

use std::time::{Duration, Instant};

/// Deltas within this time of the last emitted one are joined.
const DELTAS_JOINED: Duration = Duration::from_millis(25);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextRole {
    Answer,
    /// Text before a tool call.
    Preamble,
}

/// Text ready to be emitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece<V> {
    pub role: V,
    /// The joined text.
    pub text: String,
}

/// Coalesces text of one role. Has no clock: callers pass the time.
#[derive(Debug)]
pub struct Coalescer<V> {
    waiting: Option<Piece<V>>,
    told: Option<Instant>,
}

impl<V> Default for Coalescer<V> {
    fn default() -> Self {
        Self { waiting: None, told: None }
    }
}

impl<V: PartialEq> Coalescer<V> {
    /// Adds a piece and returns the pieces to emit now, oldest first.
    pub fn push(&mut self, now: Instant, role: V, text: &str) -> Vec<Piece<V>> {
        let mut ready = Vec::new();
        if text.is_empty() {
            return ready;
        }
        if self.waiting.as_ref().is_some_and(|waiting| waiting.role != role) {
            ready.extend(self.waiting.take());
        }
        let waiting = self.waiting.get_or_insert_with(|| Piece { role, text: String::new() });
        waiting.text.push_str(text);
        if self.told.is_none_or(|told| now >= told + DELTAS_JOINED) {
            ready.extend(self.waiting.take());
        }
        if !ready.is_empty() {
            self.told = Some(now);
        }
        ready
    }

    /// Returns when the buffered text is due.
    pub fn due(&self) -> Option<Instant> {
        self.waiting.as_ref().and(self.told).map(|told| told + DELTAS_JOINED)
    }

    /// Returns the buffered text if it is due.
    pub fn ripe(&mut self, now: Instant) -> Option<Piece<V>> {
        if self.due().is_some_and(|due| now >= due) { self.flush(now) } else { None }
    }

    /// Returns the buffered text.
    pub fn flush(&mut self, now: Instant) -> Option<Piece<V>> {
        let piece = self.waiting.take()?;
        self.told = Some(now);
        Some(piece)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Feeds pieces at the given milliseconds with a ticking clock, and records the output with its time.
    fn play(pieces: &[(u64, TextRole, &str)]) -> Vec<String> {
        let begin = Instant::now();
        let at = |ms: u64| begin + Duration::from_millis(ms);
        let (mut coalescer, mut told) = (Coalescer::default(), Vec::new());
        let end = pieces.last().map_or(0, |(ms, _, _)| *ms) + 30;
        for ms in 0..=end {
            let line = |piece: Piece<TextRole>| format!("{ms} {:?} {}", piece.role, piece.text);
            told.extend(coalescer.ripe(at(ms)).map(line));
            for (_, role, text) in pieces.iter().filter(|(when, _, _)| *when == ms) {
                told.extend(coalescer.push(at(ms), *role, text).into_iter().map(line));
            }
        }
        assert_eq!(coalescer.due(), None, "text is left in the buffer");
        told
    }

    #[test]
    fn coalescer_emits_first_piece_at_once() {
        use TextRole::{Answer, Preamble};
        type Row = (&'static [(u64, TextRole, &'static str)], &'static [&'static str]);
        let rows: [Row; 5] = [
            (&[(0, Answer, "a")], &["0 Answer a"]),
            (&[(0, Answer, "a"), (5, Answer, "b"), (24, Answer, "c")], &["0 Answer a", "25 Answer bc"]),
            (
                &[(0, Answer, "a"), (25, Answer, "b"), (26, Answer, "c")],
                &["0 Answer a", "25 Answer b", "50 Answer c"],
            ),
            (
                &[(0, Preamble, "a"), (3, Preamble, "b"), (4, Answer, "c")],
                &["0 Preamble a", "4 Preamble b", "29 Answer c"],
            ),
            (&[(0, Answer, ""), (9, Answer, "a")], &["9 Answer a"]),
        ];
        for (pieces, expected) in rows {
            assert_eq!(play(pieces), expected);
        }
    }

    #[test]
    fn flush_returns_buffered_text() {
        let now = Instant::now();
        let mut coalescer = Coalescer::default();
        coalescer.push(now, TextRole::Answer, "a");
        assert_eq!(coalescer.flush(now), None);
        coalescer.push(now, TextRole::Answer, "b");
        assert_eq!(coalescer.flush(now), Some(Piece { role: TextRole::Answer, text: "b".to_owned() }));
    }
}
