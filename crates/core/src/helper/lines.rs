//! Lines of JSON with a length limit.

use crate::{json_text, model::ModelError};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::io::{self, BufRead, BufReader, Read, Write};

/// A line that is not a message.
#[derive(Debug)]
pub struct InvalidLine {
    /// The `id` in the line, if it can be read.
    pub id: Option<u64>,
    /// The parse error; `None` if the line is longer than the limit.
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
        // Not a `Value`, which has a limit on nesting and takes many times the memory of the line.
        #[derive(Deserialize)]
        struct About {
            id: Option<u64>,
        }
        let about = serde_json::from_slice::<About>(line).ok();
        Self { id: about.and_then(|about| about.id), error: Some(error) }
    }
}

/// Reads messages, one per line of at most `limit` bytes, until the input ends.
pub fn read_messages<T: DeserializeOwned>(
    input: impl Read,
    limit: usize,
    mut on_message: impl FnMut(Result<T, InvalidLine>),
) -> io::Result<()> {
    let (mut input, mut line) = (BufReader::new(input), Vec::new());
    // The limit does not count the line end.
    while (&mut input).take(limit as u64 + 1).read_until(b'\n', &mut line)? > 0 {
        on_message(if line.len() > limit && !line.ends_with(b"\n") {
            input.skip_until(b'\n')?;
            Err(InvalidLine { id: None, error: None })
        } else {
            json_text::from_slice(&line).map_err(|error| InvalidLine::of(&line, error))
        });
        line.clear();
    }
    Ok(())
}

/// Writes `message` as one line.
pub fn write_line(writer: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *writer, message)?;
    writer.write_all(b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_long_is_skipped_and_the_next_one_is_read() {
        let mut read = Vec::new();
        read_messages::<u64>(&b"12345678\n1234\n\n56\n12345"[..], 4, |message| {
            read.push(message.map_err(|line| line.error.is_none()));
        })
        .unwrap();
        assert_eq!(read, [Err(true), Ok(1234), Err(false), Ok(56), Err(true)]);
    }

    #[test]
    fn half_a_character_in_a_message_becomes_a_replacement() {
        for line in [&br#""cut \ud83d""#[..], br#""cut \ude00""#] {
            read_messages::<String>(line, 99, |read| assert_eq!(read.unwrap(), "cut \u{fffd}")).unwrap();
        }
    }

    #[test]
    fn the_id_of_an_invalid_line_is_read() {
        let deep = format!("{{\"arguments\":{}{},\"id\":7}}", "[".repeat(200), "]".repeat(200));
        for line in ["{\"id\":7}", &deep] {
            let read = |message: Result<u64, InvalidLine>| assert_eq!(message.unwrap_err().id, Some(7));
            read_messages(line.as_bytes(), 999, read).unwrap();
        }
    }
}
