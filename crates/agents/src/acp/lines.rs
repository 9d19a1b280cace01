//! Lines of a stream, none of them longer than what may be held.

use std::io::{self, BufRead};

/// What comes next on a stream.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// Without its end.
    Whole(Vec<u8>),
    /// It is longer than the limit; nothing after it is read.
    TooLong,
    /// The stream ended; what stood there without a line's end is no line.
    End,
}

/// Reads up to the next `\n`.
pub(crate) fn next(input: &mut impl BufRead, limit: usize) -> Line {
    let mut line = Vec::new();
    loop {
        let available = match input.fill_buf() {
            Ok([]) => return Line::End,
            Ok(available) => available,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return Line::End,
        };
        let end = memchr::memchr(b'\n', available);
        let taken = end.unwrap_or(available.len());
        if line.len() + taken > limit {
            return Line::TooLong;
        }
        line.extend_from_slice(&available[..taken]);
        input.consume(taken + usize::from(end.is_some()));
        if end.is_some() {
            return Line::Whole(line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_lines_up_to_the_limit() {
        let mut input = io::BufReader::with_capacity(3, &b"ab\n\n12345678\n123456789\nab"[..]);
        let mut read = || next(&mut input, 8);
        assert_eq!(read(), Line::Whole(b"ab".to_vec()));
        assert_eq!(read(), Line::Whole(Vec::new()));
        assert_eq!(read(), Line::Whole(b"12345678".to_vec()));
        assert_eq!(read(), Line::TooLong);
        assert_eq!(next(&mut &b"cut off"[..], 80), Line::End);
    }
}
