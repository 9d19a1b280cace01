//! Reads the lines of a stream, up to a maximum length.

use std::{
    io::{self, BufRead, BufReader, Read},
    sync::mpsc::{self, Receiver},
    thread,
};

/// The next item of a stream.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// A line, without the line break.
    Whole(Vec<u8>),
    /// Longer than the limit; nothing after it is read.
    TooLong,
    /// End of the stream; an unterminated last line is dropped.
    End,
}

/// Reads lines of at most `limit` bytes on a separate thread, up to `ahead` in advance. The
/// last item is never a whole line.
pub(crate) fn read_lines(
    output: impl Read + Send + 'static,
    limit: usize,
    ahead: usize,
) -> io::Result<Receiver<Line>> {
    let (sender, lines) = mpsc::sync_channel(ahead);
    let mut output = BufReader::with_capacity(64 << 10, output);
    let read = move || {
        loop {
            let line = next_line(&mut output, limit);
            let is_last = !matches!(line, Line::Whole(_));
            if sender.send(line).is_err() || is_last {
                return;
            }
        }
    };
    thread::Builder::new().name("agent stdout".to_owned()).spawn(read)?;
    Ok(lines)
}

fn next_line(input: &mut impl BufRead, limit: usize) -> Line {
    let mut line = Vec::new();
    match input.take(limit as u64 + 1).read_until(b'\n', &mut line) {
        Ok(_) if line.pop_if(|last| *last == b'\n').is_some() => Line::Whole(line),
        Ok(read) if read > limit => Line::TooLong,
        _ => Line::End,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_lines_up_to_the_limit() {
        let mut input = std::io::BufReader::with_capacity(3, &b"ab\n\n12345678\n123456789\nab"[..]);
        let mut read = || next_line(&mut input, 8);
        assert_eq!(read(), Line::Whole(b"ab".to_vec()));
        assert_eq!(read(), Line::Whole(Vec::new()));
        assert_eq!(read(), Line::Whole(b"12345678".to_vec()));
        assert_eq!(read(), Line::TooLong);
        assert_eq!(next_line(&mut &b"cut off"[..], 80), Line::End);
    }
}
