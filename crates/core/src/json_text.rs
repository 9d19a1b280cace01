//! Reads JSON from other programs that serde_json would reject because of one broken character.
//!
//! A program that shortens text by UTF-16 units (JavaScript's `slice`, a byte limit inside an emoji) writes half of a
//! surrogate pair, as `"\ud83d"`. RFC 8259 §8.2 calls the result unpredictable; JavaScript and Python read it,
//! serde_json rejects the whole text.

use memchr::memmem;
use serde::de::DeserializeOwned;
use std::borrow::Cow;

/// An escaped UTF-16 unit: a backslash, `u` and four hexadecimal digits.
const ESCAPE: usize = 6;

/// Parses JSON; lone surrogates become U+FFFD. Returns the error of serde_json if it is not JSON.
pub fn from_str<T: DeserializeOwned>(json: &str) -> serde_json::Result<T> {
    serde_json::from_str(json).or_else(|error| match with_whole_characters(json) {
        Cow::Borrowed(_) => Err(error),
        Cow::Owned(whole) => serde_json::from_str(&whole),
    })
}

/// Like [`from_str`]; bytes that are not UTF-8 become U+FFFD, too.
pub fn from_slice<T: DeserializeOwned>(json: &[u8]) -> serde_json::Result<T> {
    serde_json::from_slice(json).or_else(|error| match String::from_utf8_lossy(json) {
        Cow::Borrowed(text) => from_str(text),
        Cow::Owned(_) if !json.trim_ascii_start().starts_with(b"{") => Err(error),
        Cow::Owned(text) => from_str(&text),
    })
}

/// Returns the text with each lone surrogate escape replaced by `\ufffd`; borrows the text if it has no such escape.
///
/// The length in bytes does not change, so offsets into the text stay valid. Text that is not JSON is returned with at
/// most the same replacement.
pub fn with_whole_characters(json: &str) -> Cow<'_, str> {
    let bytes = json.as_bytes();
    // Most texts end here: an escape of a surrogate begins with one of these.
    let first = [memmem::find(bytes, br"\ud"), memmem::find(bytes, br"\uD")].into_iter().flatten().min();
    let Some(first) = first else { return Cow::Borrowed(json) };
    // The backslash may itself be escaped: `\\ud83d` is text. The length of the run of backslashes decides.
    let run = bytes[..first].iter().rev().take_while(|byte| **byte == b'\\').count();
    let mut at = first - run;
    let mut whole = String::new();
    let mut copied = 0;
    while let Some(found) = memchr::memchr(b'\\', &bytes[at..]) {
        at += found;
        let Some(unit) = escaped_unit(bytes, at) else {
            // Skips the escaped character, which may be a backslash.
            at = (at + 2).min(bytes.len());
            continue;
        };
        let is_pair = matches!(unit, 0xd800..=0xdbff)
            && self::escaped_unit(bytes, at + ESCAPE).is_some_and(|low| matches!(low, 0xdc00..=0xdfff));
        if is_pair {
            at += 2 * ESCAPE;
            continue;
        }
        if matches!(unit, 0xd800..=0xdfff) {
            whole.push_str(&json[copied..at]);
            whole.push_str(r"\ufffd");
            copied = at + ESCAPE;
        }
        at += ESCAPE;
    }
    if copied == 0 {
        return Cow::Borrowed(json);
    }
    whole.push_str(&json[copied..]);
    Cow::Owned(whole)
}

fn escaped_unit(bytes: &[u8], at: usize) -> Option<u16> {
    let digits = bytes.get(at..at + ESCAPE)?.strip_prefix(br"\u")?;
    digits.iter().try_fold(0, |unit: u16, digit| Some(unit << 4 | char::from(*digit).to_digit(16)? as u16))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    #[test]
    fn lone_surrogates_are_replaced() {
        for (json, expected) in [
            (r#"{"text":"cut \ud83d"}"#, r#"{"text":"cut \ufffd"}"#),
            (r#"{"text":"\uDE00 rest"}"#, r#"{"text":"\ufffd rest"}"#),
            (r#"{"\uD83D":1}"#, r#"{"\ufffd":1}"#),
            (r#""\ud83d\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#),
            (r#""\ud83d\ude00\ude00""#, r#""\ud83d\ude00\ufffd""#),
            (r#""\ud83d\n\ude00""#, r#""\ufffd\n\ufffd""#),
            (r#""\\\ud83d""#, r#""\\\ufffd""#),
            (r#""😀\ud83d😀""#, r#""😀\ufffd😀""#),
        ] {
            assert_eq!(with_whole_characters(json), expected);
            serde_json::from_str::<Value>(expected).unwrap();
        }
    }

    #[test]
    fn from_str_accepts_lone_surrogates() {
        let cut = "cut \u{fffd}";
        for json in [&br#"{"a":"cut \ud83d"}"#[..], b"{\"a\":\"cut \xf0\x9f\"}", b" {\"a\":\"cut \xff\"}\r\n"]
        {
            assert_eq!(from_slice::<Value>(json).unwrap(), serde_json::json!({"a": cut}));
        }
        assert_eq!(from_str::<String>(r#""cut \ude00""#).unwrap(), cut);
        for broken in [&b"\xff\xfe1"[..], b"{\"a\":\"\xf0", b"{\"a\":\"\\ud83d", b"\xf0{}", b""] {
            assert!(from_slice::<Value>(broken).is_err());
        }
    }

    #[test]
    fn valid_json_is_borrowed() {
        for json in [
            "",
            r#"{"text":"plain \n text"}"#,
            r#"{"text":"\ud83d\uDE00 \u00e9 \ud7ff \ue000"}"#,
            r#"{"path":"C:\\ud83d\\uDE00"}"#,
            r#""\\\\ud83d""#,
            r"\ud83",
            r"\ud83g",
            r"\",
        ] {
            assert!(matches!(with_whole_characters(json), Cow::Borrowed(same) if same == json), "{json}");
        }
    }

    /// A piece of a JSON string, and the UTF-16 units that JavaScript reads from it.
    fn piece() -> impl Strategy<Value = (String, Vec<u16>)> {
        let plain = any::<char>().prop_map(|character| {
            let text = serde_json::to_string(&character).unwrap();
            (text[1..text.len() - 1].to_owned(), character.to_string().encode_utf16().collect())
        });
        let escaped = |unit: u16, upper: bool| {
            (if upper { format!(r"\u{unit:04X}") } else { format!(r"\u{unit:04x}") }, vec![unit])
        };
        let any_unit = (any::<u16>(), any::<bool>()).prop_map(move |(unit, upper)| escaped(unit, upper));
        let half = (0xd7f0..0xe010_u16, any::<bool>()).prop_map(move |(unit, upper)| escaped(unit, upper));
        let backslash = Just((r"\\".to_owned(), vec![u16::from(b'\\')]));
        let letters = Just(("ud83d".to_owned(), "ud83d".encode_utf16().collect()));
        prop_oneof![plain, any_unit, half, backslash, letters]
    }

    proptest! {
        #[test]
        fn strings_parse_as_in_javascript(pieces in prop::collection::vec(piece(), 0..24)) {
            let json = format!("\"{}\"", pieces.iter().map(|(text, _)| text.as_str()).collect::<String>());
            let units: Vec<u16> = pieces.into_iter().flat_map(|(_, units)| units).collect();
            let whole = with_whole_characters(&json);
            prop_assert_eq!(serde_json::from_str::<String>(&whole).unwrap(), String::from_utf16_lossy(&units));
            prop_assert_eq!(matches!(whole, Cow::Borrowed(_)), serde_json::from_str::<String>(&json).is_ok());
        }

        #[test]
        fn with_whole_characters_accepts_any_text(text in r#"(\PC|\\|u|[dD]|[0-9a-fA-F]|\\u[dD][89a-fA-F])*"#) {
            let whole = with_whole_characters(&text);
            prop_assert_eq!(whole.len(), text.len());
            prop_assert_eq!(with_whole_characters(&whole), whole.as_ref());
        }
    }
}
