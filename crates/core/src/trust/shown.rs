//! Text of an unknown folder, made safe to show.

use crate::limits::trust as limits;

/// Returns a text on one line. Control, format and other invisible characters become escapes such as `\u{202e}`, so that
/// none of them hides or reorders what follows.
pub(super) fn visible(text: &str) -> String {
    let mut line = String::new();
    for (count, character) in text.chars().enumerate() {
        if count == limits::LINE {
            line.push('…');
            break;
        }
        match character {
            '\n' => line.push_str("\\n"),
            '\r' => line.push_str("\\r"),
            '\t' => line.push_str("\\t"),
            hidden if is_hidden(hidden) => line.extend(hidden.escape_unicode()),
            shown => line.push(shown),
        }
    }
    line
}

/// Control characters (Cc), format characters (Cf), line and paragraph separators, fillers, variation selectors and
/// private use.
fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(u32::from(character),
            0xAD | 0x34F | 0x600..=0x605 | 0x61C | 0x6DD | 0x70F | 0x890 | 0x891 | 0x8E2
            | 0x115F | 0x1160 | 0x17B4 | 0x17B5 | 0x180B..=0x180F
            | 0x200B..=0x200F | 0x2028..=0x202E | 0x2060..=0x206F | 0x3164
            | 0xE000..=0xF8FF | 0xFE00..=0xFE0F | 0xFEFF | 0xFFA0 | 0xFFF0..=0xFFFB
            | 0x110BD | 0x110CD | 0x13430..=0x1343F | 0x1BCA0..=0x1BCA3 | 0x1D173..=0x1D17A
            | 0xE0000..=0x10_FFFF)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_hides_or_reorders_what_follows() {
        let rows = [
            ("make test", "make test"),
            ("größer 日本 🙂", "größer 日本 🙂"),
            ("a\nb\tc\r", "a\\nb\\tc\\r"),
            ("a\u{1b}[2Kb", "a\\u{1b}[2Kb"),
            ("x\u{202e}hs.live", "x\\u{202e}hs.live"),
            ("a\u{200b}\u{2066}b\u{feff}\u{e0041}", "a\\u{200b}\\u{2066}b\\u{feff}\\u{e0041}"),
        ];
        for (text, expected) in rows {
            assert_eq!(visible(text), expected);
        }
        let long = visible(&"x".repeat(limits::LINE + 1));
        assert_eq!(long.chars().count(), limits::LINE + 1);
        assert!(long.ends_with('…'));
    }
}
