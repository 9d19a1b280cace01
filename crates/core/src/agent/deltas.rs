//! Joins pieces of text that come faster than anybody reads: the first is told at once, those within 25 ms become one.

use std::time::{Duration, Instant};

/// Pieces that come within this time of the last one told are joined.
const TOGETHER: Duration = Duration::from_millis(25);

/// Who says a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Voice {
    /// The answer.
    Answer,
    /// What is said before a call.
    Preamble,
}

/// Text that is ready to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece<V> {
    /// Who says it.
    pub voice: V,
    /// What was pushed, joined.
    pub text: String,
}

/// Joins text of one voice. Knows no clock: whoever calls says what time it is.
#[derive(Debug)]
pub struct Deltas<V> {
    waiting: Option<Piece<V>>,
    told: Option<Instant>,
}

impl<V> Default for Deltas<V> {
    fn default() -> Self {
        Self { waiting: None, told: None }
    }
}

impl<V: PartialEq> Deltas<V> {
    /// Takes a piece and returns what is to be told now, oldest first.
    pub fn push(&mut self, now: Instant, voice: V, text: &str) -> Vec<Piece<V>> {
        let mut ready = Vec::new();
        if text.is_empty() {
            return ready;
        }
        if self.waiting.as_ref().is_some_and(|waiting| waiting.voice != voice) {
            ready.extend(self.waiting.take());
        }
        let waiting = self.waiting.get_or_insert_with(|| Piece { voice, text: String::new() });
        waiting.text.push_str(text);
        if self.told.is_none_or(|told| now >= told + TOGETHER) {
            ready.extend(self.waiting.take());
        }
        if !ready.is_empty() {
            self.told = Some(now);
        }
        ready
    }

    /// Returns when what waits has waited long enough.
    pub fn due(&self) -> Option<Instant> {
        self.waiting.as_ref().and(self.told).map(|told| told + TOGETHER)
    }

    /// Returns what waits if its time has come.
    pub fn ripe(&mut self, now: Instant) -> Option<Piece<V>> {
        if self.due().is_some_and(|due| now >= due) { self.flush(now) } else { None }
    }

    /// Returns what waits.
    pub fn flush(&mut self, now: Instant) -> Option<Piece<V>> {
        let piece = self.waiting.take()?;
        self.told = Some(now);
        Some(piece)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plays pieces at their milliseconds, with the clock ticking between them, and writes down what is told when.
    fn play(pieces: &[(u64, Voice, &str)]) -> Vec<String> {
        let begin = Instant::now();
        let at = |ms: u64| begin + Duration::from_millis(ms);
        let (mut deltas, mut told) = (Deltas::default(), Vec::new());
        let end = pieces.last().map_or(0, |(ms, _, _)| *ms) + 30;
        for ms in 0..=end {
            let line = |piece: Piece<Voice>| format!("{ms} {:?} {}", piece.voice, piece.text);
            told.extend(deltas.ripe(at(ms)).map(line));
            for (_, voice, text) in pieces.iter().filter(|(when, _, _)| *when == ms) {
                told.extend(deltas.push(at(ms), *voice, text).into_iter().map(line));
            }
        }
        assert_eq!(deltas.due(), None, "something waits for ever");
        told
    }

    #[test]
    fn the_first_at_once_and_then_together() {
        use Voice::{Answer, Preamble};
        type Row = (&'static [(u64, Voice, &'static str)], &'static [&'static str]);
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
    fn what_waits_is_given_out_when_asked_for() {
        let now = Instant::now();
        let mut deltas = Deltas::default();
        deltas.push(now, Voice::Answer, "a");
        assert_eq!(deltas.flush(now), None);
        deltas.push(now, Voice::Answer, "b");
        assert_eq!(deltas.flush(now), Some(Piece { voice: Voice::Answer, text: "b".to_owned() }));
    }
}
