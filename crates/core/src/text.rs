//! Truncates and joins text for display.

use serde_json::Value;

/// Returns whether a word is one of a list separated by `|`.
pub fn is_listed(word: &str, list: &str) -> bool {
    list.split('|').any(|listed| listed == word)
}

/// Truncates at a word boundary to at most `characters`, including the ellipsis.
pub fn cut_at_word(text: &str, characters: usize) -> String {
    if text.chars().count() <= characters {
        return text.to_owned();
    }
    let head: String = text.chars().take(characters.saturating_sub(1)).collect();
    let whole_words = head.rfind(char::is_whitespace).filter(|at| *at > head.len() / 2);
    let kept = whole_words.map_or(head.as_str(), |at| &head[..at]);
    format!("{}…", kept.trim_end_matches(|c: char| c.is_whitespace() || ",;:-–".contains(c)))
}

/// Returns at most the first `bytes` of a text, cut at a character boundary.
pub fn prefix(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// Turns a clause into a sentence, with an initial capital and a full stop.
pub fn sentence(clause: &str) -> String {
    let mut letters = clause.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    format!("{first}{}.", letters.as_str())
}

/// Joins the lines of a text, so that a name with a line break stays on one line.
pub fn one_line(text: &str) -> String {
    line(text, usize::MAX)
}

/// Returns at most `characters` of a text on one line, followed by `…` if there are more. Reads no further than that.
pub fn line(text: &str, characters: usize) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    let mut line = String::new();
    let mut count = 0;
    for word in words {
        if !line.is_empty() {
            line.push(' ');
            count += 1;
        }
        for character in word.chars() {
            if count >= characters {
                line.truncate(line.trim_end().len());
                line.push('…');
                return line;
            }
            line.push(character);
            count += 1;
        }
    }
    line
}

/// Truncates to a number of characters and appends `…`.
pub fn clip(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Truncates to a number of bytes, at a character boundary, and appends `…`.
pub fn clip_bytes(text: &str, bytes: usize) -> String {
    match text.floor_char_boundary(bytes) {
        end if end < text.len() => format!("{}…", &text[..end]),
        _ => text.to_owned(),
    }
}

/// Returns a Markdown code block with exactly this text: its fence is longer than any run of backticks inside.
pub fn fenced(text: &str) -> String {
    let longest = text.split(|sign| sign != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.saturating_add(1).max(3));
    format!("{fence}\n{}\n{fence}", text.trim_end_matches('\n'))
}

/// Truncates to a number of characters and appends a note for a model.
pub fn cut_with_note(text: &str, room: usize) -> String {
    match text.char_indices().nth(room) {
        None => text.to_owned(),
        Some((end, _)) => {
            let all = text.chars().count();
            format!("{}\n(Cut: the first {room} of {all} characters.)", &text[..end])
        }
    }
}

pub fn joined<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let mut joined = String::new();
    for text in texts {
        if !joined.is_empty() {
            joined.push('\n');
        }
        joined.push_str(text);
    }
    joined
}

/// Returns a JSON value as text; strings have no quotes.
pub fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Joins bytes that arrive in pieces into text; holds back incomplete characters.
#[derive(Debug, Default)]
pub struct Utf8Pieces {
    pending: Vec<u8>,
}

impl Utf8Pieces {
    /// Adds bytes and returns the complete characters. Invalid bytes become U+FFFD.
    pub fn push(&mut self, bytes: &[u8]) -> String {
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

    /// Returns the incomplete character at the end, as U+FFFD.
    pub fn finish(&mut self) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut self.pending)).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn utf8_pieces_rejoin_at_any_split(
            parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..6), 0..20),
            text in ".*",
        ) {
            let bytes = [parts.concat(), text.into_bytes()].concat();
            let mut pieces = Utf8Pieces::default();
            let mut whole: String = bytes.iter().map(|byte| pieces.push(&[*byte])).collect();
            whole.push_str(&pieces.finish());
            prop_assert_eq!(whole, String::from_utf8_lossy(&bytes));
        }
    }

    #[test]
    fn cut_at_word_ends_with_ellipsis() {
        assert_eq!(cut_at_word("short", 10), "short");
        assert_eq!(cut_at_word("one two, three", 10), "one two…");
        assert_eq!(cut_at_word("éééééééééééé", 5), "éééé…");
    }

    #[test]
    fn line_returns_one_line_at_most() {
        assert_eq!(line("  a\n\n b\tc ", 200), "a b c");
        let long = line(&"word ".repeat(100), 200);
        assert_eq!(long.chars().count(), 200);
        assert!(long.ends_with("word…"), "{long}");
        assert_eq!(line(&"ü".repeat(200), 200).chars().count(), 200);
        // Regression: a cut at the end of a word was missed, and the whole text was shown.
        assert_eq!(line("one two three", 7), "one two…");
        assert_eq!(line(&"ü".repeat(201), 200), format!("{}…", "ü".repeat(200)));
        assert_eq!((clip("üüü", 2), clip_bytes("üüü", 3)), ("üü…".to_owned(), "ü…".to_owned()));
    }
}
