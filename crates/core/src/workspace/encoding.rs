//! Text files as UTF-8, whatever encoding their byte order mark names.
//!
//! Readers never see the mark. Without one, bytes that are not UTF-8 stay as they are: Latin-1 keeps its ASCII words.

use encoding_rs_io::{DecodeReaderBytes, DecodeReaderBytesBuilder};
use std::io::Read;

/// Maximum bytes at the beginning of a file that are checked for a NUL.
pub const BINARY_PROBE: usize = 8 << 10;

/// The encoding that a byte order mark names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum MarkedEncoding {
    Utf8,
    Utf16Le,
    Utf16Be,
}

impl MarkedEncoding {
    /// Returns the encoding of a file by its first bytes; `None` without a mark.
    pub fn of(head: &[u8]) -> Option<Self> {
        match head {
            [0xef, 0xbb, 0xbf, ..] => Some(Self::Utf8),
            [0xff, 0xfe, ..] => Some(Self::Utf16Le),
            [0xfe, 0xff, ..] => Some(Self::Utf16Be),
            _ => None,
        }
    }

    /// Returns its IANA name, in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "utf-8",
            Self::Utf16Le => "utf-16le",
            Self::Utf16Be => "utf-16be",
        }
    }
}

/// Returns whether a file is binary: it has a NUL near its beginning, and is not marked as UTF-16.
pub fn is_binary(head: &[u8]) -> bool {
    let is_utf16 =
        matches!(MarkedEncoding::of(head), Some(MarkedEncoding::Utf16Le | MarkedEncoding::Utf16Be));
    !is_utf16 && memchr::memchr(0, &head[..head.len().min(BINARY_PROBE)]).is_some()
}

/// Returns a reader of a text file that decodes it and skips the mark.
pub fn decoding<R: Read>(file: R) -> DecodeReaderBytes<R, Vec<u8>> {
    DecodeReaderBytesBuilder::new().bom_override(true).strip_bom(true).utf8_passthru(true).build(file)
}

/// Decodes the beginning of a text file that is in memory.
pub fn decoded(bytes: Vec<u8>) -> Vec<u8> {
    if MarkedEncoding::of(&bytes).is_none() {
        return bytes;
    }
    let mut text = Vec::with_capacity(bytes.len());
    // Reading from memory cannot fail.
    let _ = decoding(bytes.as_slice()).read_to_end(&mut text);
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn utf16(text: &str, mark: [u8; 2], bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
        mark.into_iter().chain(text.encode_utf16().flat_map(bytes)).collect()
    }

    #[test]
    fn marks_are_skipped_and_utf16_is_decoded() {
        let text = "größe 🎉\r\nend";
        let rows = [
            (text.as_bytes().to_vec(), None),
            ([b"\xef\xbb\xbf", text.as_bytes()].concat(), Some("utf-8")),
            (utf16(text, [0xff, 0xfe], u16::to_le_bytes), Some("utf-16le")),
            (utf16(text, [0xfe, 0xff], u16::to_be_bytes), Some("utf-16be")),
        ];
        for (bytes, encoding) in rows {
            assert_eq!(MarkedEncoding::of(&bytes).map(MarkedEncoding::name), encoding);
            assert!(!is_binary(&bytes), "{encoding:?}");
            assert_eq!(String::from_utf8(decoded(bytes)).unwrap(), text, "{encoding:?}");
        }
        assert_eq!(decoded(b"caf\xe9".to_vec()), b"caf\xe9");
        let unmarked = utf16(text, [b'a', 0], u16::to_le_bytes);
        assert!(is_binary(&unmarked));
        // Cut inside a character.
        assert_eq!(decoded(b"\xff\xfea\0b".to_vec()), "a\u{fffd}".as_bytes());
    }

    proptest! {
        #[test]
        fn any_text_comes_back(text in "\\PC{0,40}") {
            prop_assert_eq!(&decoded(utf16(&text, [0xff, 0xfe], u16::to_le_bytes)), text.as_bytes());
            prop_assert_eq!(&decoded(utf16(&text, [0xfe, 0xff], u16::to_be_bytes)), text.as_bytes());
        }

        #[test]
        fn no_bytes_fail(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let _ = decoded(bytes);
        }
    }
}
