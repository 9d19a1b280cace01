//! Lines of JSON with a length limit.

use crate::model::ModelError;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::io::{self, BufRead, BufReader, Read, Write};

/// A line that is not a message.
#[derive(Debug)]
pub struct InvalidLine {
    /// The `id` in the line, if it can be read.
    pub id: Option<u64>,
    /// The mistake; `None` if the line is longer than the limit.
    pub error: Option<serde_json::Error>,
}

impl InvalidLine {
    /// Returns the helper's answer to an invalid command.
    pub fn refusal(&self) -> ModelError {
        ModelError::Failed(match &self.error {
            Some(error) => format!("the helper program received an invalid command: {error}"),
            None => "the command is too long; shorten the conversation".to_owned(),
        })
    }

    fn of(line: &[u8], error: serde_json::Error) -> Self {
        #[derive(Deserialize)]
        struct About {
            id: Option<u64>,
        }
        let about = serde_json::from_slice::<About>(line).ok();
        Self { id: about.and_then(|about| about.id), error: Some(error) }
    }
}

/// Reads messages, one per line of at most `limit` bytes, until the input ends. Fails if it cannot be read.
pub fn read_messages<T: DeserializeOwned>(
    input: impl Read,
    limit: usize,
    mut on_message: impl FnMut(Result<T, InvalidLine>),
) -> io::Result<()> {
    let (mut input, mut line) = (BufReader::new(input), Vec::new());
    loop {
        on_message(match read_line(&mut input, &mut line, limit)? {
            Line::Read => serde_json::from_slice(&line).map_err(|error| InvalidLine::of(&line, error)),
            Line::TooLong => Err(InvalidLine { id: None, error: None }),
            Line::End => return Ok(()),
        });
    }
}

/// Result of reading a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    /// A line, without its end.
    Read,
    /// A line longer than the limit; it was skipped.
    TooLong,
    /// End of input.
    End,
}

/// Reads one line of at most `limit` bytes into `line`, which is cleared first.
fn read_line(reader: &mut impl BufRead, line: &mut Vec<u8>, limit: usize) -> io::Result<Line> {
    line.clear();
    let (mut too_long, mut any) = (false, false);
    loop {
        let buffer = match reader.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            other => other?,
        };
        any |= !buffer.is_empty();
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let piece = &buffer[..end.unwrap_or(buffer.len())];
        too_long |= line.len() + piece.len() > limit;
        if !too_long {
            line.extend_from_slice(piece);
        }
        let (used, done) = (end.map_or(buffer.len(), |end| end + 1), end.is_some() || buffer.is_empty());
        reader.consume(used);
        if done {
            return Ok(match (any, too_long) {
                (false, _) => Line::End,
                (true, true) => Line::TooLong,
                (true, false) => Line::Read,
            });
        }
    }
}

/// Writes `message` as one line.
pub fn write_line(writer: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *writer, message)?;
    writer.write_all(b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufReader;

    #[test]
    fn a_line_that_is_too_long_is_skipped_and_the_next_one_is_read() {
        let mut reader = BufReader::with_capacity(3, &b"12345678\n1234\n\nlast"[..]);
        let mut line = Vec::new();
        let mut read = || {
            let kind = read_line(&mut reader, &mut line, 4).unwrap();
            (kind, String::from_utf8(line.clone()).unwrap())
        };
        assert_eq!(read().0, Line::TooLong);
        assert_eq!(read(), (Line::Read, "1234".to_owned()));
        assert_eq!(read(), (Line::Read, String::new()));
        assert_eq!(read(), (Line::Read, "last".to_owned()));
        assert_eq!(read().0, Line::End);
    }
}
