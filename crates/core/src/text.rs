//! Truncates and joins text for display.

use serde_json::Value;

/// Truncates at a word to at most `characters`, including the ellipsis.
pub(crate) fn cut_at_word(text: &str, characters: usize) -> String {
    if text.chars().count() <= characters {
        return text.to_owned();
    }
    let head: String = text.chars().take(characters.saturating_sub(1)).collect();
    let whole_words = head.rfind(char::is_whitespace).filter(|at| *at > head.len() / 2);
    let kept = whole_words.map_or(head.as_str(), |at| &head[..at]);
    format!("{}…", kept.trim_end_matches(|c: char| c.is_whitespace() || ",;:-–".contains(c)))
}

/// Joins the lines of a text, so that a name with a line break stays on one line.
pub(crate) fn one_line(text: &str) -> String {
    text.split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Returns a JSON value as text: a string without quotes.
pub(crate) fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Truncates at a character boundary and appends a note.
pub(crate) fn cut_with_note(text: &str, room: usize) -> String {
    match text.char_indices().nth(room) {
        None => text.to_owned(),
        Some((end, _)) => {
            let all = text.chars().count();
            format!("{}\n(Cut: the first {room} of {all} characters.)", &text[..end])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::cut_at_word;

    #[test]
    fn cuts_between_words_and_says_so() {
        assert_eq!(cut_at_word("short", 10), "short");
        assert_eq!(cut_at_word("one two, three", 10), "one two…");
        assert_eq!(cut_at_word("éééééééééééé", 5), "éééé…");
    }
}
