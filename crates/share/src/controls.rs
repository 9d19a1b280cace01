//! Characters that control a terminal or reorder text.

use anstream::adapter::strip_str;
use std::borrow::Cow;

/// Returns a text without terminal colours; other characters that control a terminal or reorder text become visible,
/// as `\u{202e}`. Line breaks and tabs stay.
pub(crate) fn without_controls(text: &str) -> Cow<'_, str> {
    if !text.contains(is_control) {
        return Cow::Borrowed(text);
    }
    let text = strip_str(text).to_string().replace("\r\n", "\n");
    let mut visible = String::with_capacity(text.len());
    for character in text.chars() {
        match is_control(character) {
            true => visible.extend(character.escape_unicode()),
            false => visible.push(character),
        }
    }
    Cow::Owned(visible)
}

fn is_control(character: char) -> bool {
    let reorders = matches!(
        character,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    reorders || character.is_control() && !matches!(character, '\n' | '\t')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_are_removed_or_visible() {
        for (text, expected) in [
            ("plain\n\ttext", "plain\n\ttext"),
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("a\r\nb", "a\nb"),
            ("a\u{202e}b\u{7}", "a\\u{202e}b"),
            ("العربية 🙂\u{200d}x", "العربية 🙂\u{200d}x"),
        ] {
            assert_eq!(without_controls(text), expected, "{text:?}");
        }
    }
}
