//! Characters whose bytes are split over several tokens.

/// Joins bytes into text; holds back incomplete characters.
#[derive(Debug, Default)]
pub(crate) struct Joined {
    pending: Vec<u8>,
}

impl Joined {
    /// Adds bytes and returns the complete characters. Invalid bytes become U+FFFD.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> String {
        self.pending.extend(bytes);
        let mut text = String::new();
        loop {
            let (valid, broken) = match std::str::from_utf8(&self.pending) {
                Ok(whole) => (whole.len(), None),
                Err(error) => (error.valid_up_to(), error.error_len()),
            };
            text.push_str(&String::from_utf8_lossy(&self.pending[..valid]));
            self.pending.drain(..valid + broken.unwrap_or(0));
            match broken {
                Some(_) => text.push(char::REPLACEMENT_CHARACTER),
                None => return text,
            }
        }
    }

    pub(crate) fn finish(&mut self) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut self.pending)).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn joined_bytes_are_the_text_however_they_come(
            parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..6), 0..20),
            text in ".*",
        ) {
            let bytes = [parts.concat(), text.into_bytes()].concat();
            let mut joined = Joined::default();
            let mut whole: String = bytes.iter().map(|byte| joined.push(&[*byte])).collect();
            whole.push_str(&joined.finish());
            prop_assert_eq!(whole, String::from_utf8_lossy(&bytes));
        }
    }
}
