//! Lines of a stream, up to a maximum length.

use std::io::{self, BufRead};

/// The next item of a stream.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// Without the line break.
    Whole(Vec<u8>),
    /// Longer than the limit; nothing after it is read.
    TooLong,
    /// End of the stream; an unterminated last line is dropped.
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
