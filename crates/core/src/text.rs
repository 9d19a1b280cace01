//! Truncates and joins text for display.

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
