//! Text of an unknown folder, made safe to show.

use crate::visible::escaped;

/// Returns a text on one line, with invisible characters as escapes such as `\u{202e}`, so that none of them hides or
/// reorders what follows.
pub(super) fn visible(text: &str) -> String {
    escaped(text).replace('\n', "\\n").replace('\t', "\\t")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_hides_or_reorders_what_follows() {
        let rows = [
            ("make test", "make test"),
            ("größer 日本 🙂", "größer 日本 🙂"),
            ("a\nb\tc\r", "a\\nb\\tc\\u{d}"),
            ("a\u{1b}[2Kb", "a\\u{1b}[2Kb"),
            ("x\u{202e}hs.live", "x\\u{202e}hs.live"),
            ("a\u{200b}\u{2066}b\u{feff}\u{e0041}", "a\\u{200b}\\u{2066}b\\u{feff}\\u{e0041}"),
        ];
        for (text, expected) in rows {
            assert_eq!(visible(text), expected);
        }
    }
}
