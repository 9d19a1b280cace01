//! Skips lines of a log that cannot contain a folded text, before they are decoded.

use crate::limits;
use memchr::memmem;
use regex::bytes::{Regex, RegexBuilder};

/// Skips lines of a log that cannot contain any of the folded texts.
#[derive(Debug)]
pub(crate) enum RawFilter {
    /// Accepts every line: the texts are punctuation, which JSON may escape.
    Every,
    /// Accepts lines with non-ASCII characters: folding produces none of those from ASCII.
    NotAscii,
    /// Accepts lines with this run of letters and digits, and those in which another character may fold to one of them.
    Run(Regex),
}

impl RawFilter {
    /// Builds a filter for lines with all of these folded texts.
    pub(crate) fn new<'a>(texts: impl Iterator<Item = &'a str> + Clone) -> Self {
        let runs = texts.clone().flat_map(|text| text.split(|letter: char| !letter.is_ascii_alphanumeric()));
        let longest = runs.max_by_key(|run| run.len()).filter(|run| !run.is_empty());
        let run = longest.and_then(|run| {
            RegexBuilder::new(run)
                .case_insensitive(true)
                .unicode(false)
                .size_limit(limits::PATTERN)
                .build()
                .ok()
        });
        match run {
            Some(run) => Self::Run(run),
            None if texts.clone().any(|text| !text.is_ascii()) => Self::NotAscii,
            None => Self::Every,
        }
    }

    /// Returns false only if no text in this line of a log, which is JSON, contains all of the texts.
    pub(crate) fn may_match(&self, line: &[u8]) -> bool {
        match self {
            Self::Every => true,
            Self::NotAscii => !line.is_ascii() || escapes(line).any(|unit| unit >= 0x80),
            Self::Run(run) => run.is_match(line) || has_others(line),
        }
    }
}

/// Returns whether a line has characters that folding turns into ASCII letters or digits, or drops between them.
fn has_others(line: &[u8]) -> bool {
    let is_escaped = escapes(line).any(|unit| match u8::try_from(unit) {
        Ok(byte) if byte.is_ascii() => byte.is_ascii_alphanumeric(),
        // Half of a surrogate pair may belong to any character.
        _ => char::from_u32(unit.into()).is_none_or(is_other),
    });
    is_escaped || !line.is_ascii() && String::from_utf8_lossy(line).chars().any(is_other)
}

/// Returns the code units that a line contains as JSON escapes.
fn escapes(line: &[u8]) -> impl Iterator<Item = u16> {
    memmem::find_iter(line, b"\\u").filter_map(|at| {
        let digits = std::str::from_utf8(line.get(at + 2..at + 6)?).ok()?;
        u16::from_str_radix(digits, 16).ok()
    })
}

/// Returns whether folding may turn a character into an ASCII letter or digit, or drop it.
fn is_other(letter: char) -> bool {
    matches!(
        letter,
        '\u{aa}'..='\u{be}' | 'ß' | '\u{130}'..='\u{149}' | '\u{17f}' | '\u{1c4}'..='\u{1f5}'
            | '\u{2b0}'..='\u{2ff}' | '\u{1d2c}'..='\u{1d78}' | '\u{1d9b}'..='\u{1dbf}' | '\u{1df95}' | '\u{1e96}'..='\u{1e9f}'
            | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{20ab}' | '\u{2100}'..='\u{218f}' | '\u{2460}'..='\u{24ff}'
            | '\u{2c7c}'..='\u{2c7f}' | '\u{3200}'..='\u{33ff}' | '\u{a69c}'..='\u{a7ff}' | '\u{ab5c}'..='\u{ab69}'
            | '\u{fb00}'..='\u{fb06}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'..='\u{ff5a}' | '\u{10780}'..='\u{107ba}'
            | '\u{1ccd6}'..='\u{1ccf9}' | '\u{1d400}'..='\u{1d7ff}' | '\u{1f100}'..='\u{1f2ff}' | '\u{1fbf0}'..='\u{1fbf9}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use openagents_core::terms::FoldedText;
    use proptest::prelude::*;

    #[test]
    fn is_other_covers_every_character() {
        for letter in '\u{80}'..=char::MAX {
            let folded = FoldedText::new(&format!("a{letter}b"));
            let middle = folded.text().strip_prefix('a').and_then(|rest| rest.strip_suffix('b'));
            // Combining marks compose with the character before them.
            let becomes = middle
                .is_some_and(|text| text.is_empty() || text.contains(|c: char| c.is_ascii_alphanumeric()));
            assert!(!becomes || is_other(letter), "U+{:04X} {middle:?}", letter as u32);
        }
    }

    #[test]
    fn raw_filter_skips_lines() {
        let rows = [
            ("needle-77", r#"{"a":"a NEEDLE 77"}"#, true),
            ("needle-77", r#"{"a":"77"}"#, false),
            ("needle-77", r#"{"a":"“typographic” – é"}"#, false),
            ("needle-77", r#"{"a":"\u001b[0m \u003c"}"#, false),
            ("needle-77", r#"{"a":"ｎｅｅｄｌｅ"}"#, true),
            ("needle-77", r#"{"a":"\uff4e\uff45"}"#, true),
            ("needle-77", r#"{"a":"\u006eeedle"}"#, true),
            ("größe", r#"{"a":"gro\u00dfe"}"#, true),
            ("認証", r#"{"a":"plain"}"#, false),
            ("認証", r#"{"a":"\u8a8d"}"#, true),
            ("認証", r#"{"a":"é"}"#, true),
            ("*", r#"{"a":"plain"}"#, true),
        ];
        for (text, line, expected) in rows {
            assert_eq!(
                RawFilter::new([text].into_iter()).may_match(line.as_bytes()),
                expected,
                "{text} {line}"
            );
        }
    }

    proptest! {
        #[test]
        fn raw_filter_keeps_every_match(text in any::<String>(), around in any::<String>(), ascii in any::<bool>()) {
            let reply = format!("{around}{text}{around}");
            let folded = FoldedText::new(&text);
            prop_assume!(FoldedText::new(&reply).text().contains(folded.text()));
            let json = serde_json::to_string(&reply).unwrap();
            let json = match ascii {
                true => json.chars().map(|c| if c.is_ascii() { c.to_string() } else {
                    c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect()
                }).collect(),
                false => json,
            };
            prop_assert!(RawFilter::new([folded.text()].into_iter()).may_match(json.as_bytes()), "{}", json);
        }
    }
}
