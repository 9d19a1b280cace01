//! Splits text into words, and identifiers into their parts.

/// Returns the words of a text in lower case: `parseHTTPHeader_v2` gives `parse`, `http`, `header`, `v`, `2`.
pub fn subwords(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut before = None;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let begins = before.is_some_and(|before| begins_word(before, letter, letters.peek().copied()));
        if (begins || !letter.is_alphanumeric()) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if letter.is_alphanumeric() {
            word.extend(letter.to_lowercase());
        }
        before = Some(letter);
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// Returns whether a word of an identifier starts at `letter`, between `before` and `after`.
fn begins_word(before: char, letter: char, after: Option<char>) -> bool {
    let hump = before.is_lowercase() && letter.is_uppercase();
    // The last capital of `HTTPServer` belongs to the following word.
    let acronym_ends =
        before.is_uppercase() && letter.is_uppercase() && after.is_some_and(char::is_lowercase);
    hump || acronym_ends || before.is_ascii_digit() != letter.is_ascii_digit()
}

/// Returns whether a word is probably a name from code: `snake_case`, `camelCase`, `a::b`, `x.y`.
pub fn is_identifier(word: &str) -> bool {
    let has_hump = word.chars().skip(1).any(char::is_uppercase) && word.chars().any(char::is_lowercase);
    word.contains('_') || word.contains("::") || has_hump
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_split_where_a_reader_would() {
        let rows: [(&str, &[&str]); 7] = [
            ("followRedirects", &["follow", "redirects"]),
            ("HTTPServer::new_v2", &["http", "server", "new", "v", "2"]),
            ("follow-redirects.max", &["follow", "redirects", "max"]),
            ("SCREAMING_CASE", &["screaming", "case"]),
            ("Größe der Fenster", &["größe", "der", "fenster"]),
            ("utf8", &["utf", "8"]),
            (" … ", &[]),
        ];
        for (text, expected) in rows {
            assert_eq!(subwords(text), expected, "{text}");
        }
    }

    #[test]
    fn identifiers_are_told_from_words() {
        for word in ["snake_case", "camelCase", "a::b", "McDonald"] {
            assert!(is_identifier(word), "{word}");
        }
        for word in ["Word", "HTTP", "x", "proxy-server"] {
            assert!(!is_identifier(word), "{word}");
        }
    }
}
