//! The last bytes of a stream.

use std::collections::VecDeque;

/// Keeps the last bytes of a stream.
#[derive(Debug)]
pub(crate) struct Tail {
    bytes: VecDeque<u8>,
    limit: usize,
    truncated: bool,
}

impl Tail {
    pub(crate) fn new(limit: usize) -> Self {
        Self { bytes: VecDeque::new(), limit, truncated: false }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let kept = &bytes[bytes.len().saturating_sub(self.limit)..];
        self.bytes.extend(kept);
        let over = self.bytes.len().saturating_sub(self.limit);
        self.truncated |= over > 0 || kept.len() < bytes.len();
        self.bytes.drain(..over);
    }

    pub(crate) fn is_truncated(&self) -> bool {
        self.truncated
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let (front, back) = self.bytes.as_slices();
        [front, back].concat()
    }

    /// Returns the text starting at a character boundary, never longer than the limit.
    pub(crate) fn text(&self) -> String {
        let mut bytes = self.bytes();
        if self.truncated {
            let cut = bytes.iter().take(3).take_while(|byte| **byte & 0xC0 == 0x80).count();
            bytes.drain(..cut);
        }
        let mut text = String::from_utf8_lossy(&bytes).into_owned();
        // Replacement characters take more bytes than the invalid bytes.
        if text.len() > self.limit {
            let from = text.ceil_char_boundary(text.len() - self.limit);
            text.drain(..from);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_end_is_kept_from_a_character_boundary() {
        let rows: [(&[&[u8]], usize, &str, bool); 6] = [
            (&[b"abc"], 8, "abc", false),
            (&[b"abc", b"def"], 4, "cdef", true),
            (&["ä".as_bytes(), b"bc"], 3, "bc", true),
            (&[b"\xc3", b"\xa4"], 8, "ä", false),
            (&[b"\xff\xff\xff"], 4, "\u{fffd}", false),
            (&[b"abc"], 0, "", true),
        ];
        for (pieces, limit, text, truncated) in rows {
            let mut tail = Tail::new(limit);
            pieces.iter().for_each(|piece| tail.push(piece));
            assert_eq!((tail.text().as_str(), tail.is_truncated()), (text, truncated), "{pieces:?}");
        }
    }

    proptest! {
        #[test]
        fn never_longer_than_its_limit(pieces: Vec<Vec<u8>>, limit in 0..64_usize) {
            let mut tail = Tail::new(limit);
            pieces.iter().for_each(|piece| tail.push(piece));
            prop_assert!(tail.text().len() <= limit && tail.len() <= limit);
        }
    }
}
