//! Pairing codes, and the digits to compare.

use std::fmt;
use subtle::ConstantTimeEq;

/// Crockford's base 32, which has no look-alike characters.
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

const LENGTH: usize = 8;

/// A pairing code: eight characters, 40 bits, shown as `K7QX-2M9P`. `Debug` does not print it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Code([u8; LENGTH]);

impl fmt::Debug for Code {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Code")
    }
}

impl Code {
    pub(crate) fn new() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; LENGTH];
        getrandom::fill(&mut bytes)?;
        // 256 is a multiple of 32, so the distribution is uniform.
        Ok(Self(bytes.map(|byte| ALPHABET[usize::from(byte % 32)])))
    }

    /// Parses a typed code. Ignores case, spaces and hyphens; reads `O` as `0`, `I` and `L` as `1`.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let mut characters = text.bytes().filter(|byte| !matches!(byte, b' ' | b'-')).map(|byte| {
            let character = match byte.to_ascii_uppercase() {
                b'O' => b'0',
                b'I' | b'L' => b'1',
                other => other,
            };
            ALPHABET.contains(&character).then_some(character)
        });
        let mut code = [0; LENGTH];
        for slot in &mut code {
            *slot = characters.next()??;
        }
        characters.next().is_none().then_some(Self(code))
    }

    /// Compares in constant time.
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }

    /// Formats the code as `K7QX-2M9P`.
    pub(crate) fn shown(&self) -> String {
        let (first, second) = self.0.split_at(LENGTH / 2);
        format!("{}-{}", String::from_utf8_lossy(first), String::from_utf8_lossy(second))
    }
}

/// Returns six random digits for both screens: `482 913`.
pub(crate) fn compare_code() -> Result<String, getrandom::Error> {
    let number = getrandom::u64()? % 1_000_000;
    Ok(format!("{:03} {:03}", number / 1000, number % 1000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_codes_are_parsed_leniently() {
        for (text, expected) in [
            ("K7QX-2M9P", Some("K7QX-2M9P")),
            ("k7qx2m9p", Some("K7QX-2M9P")),
            (" k7 qx - 2m 9p ", Some("K7QX-2M9P")),
            ("OoIiLl01", Some("0011-1101")),
            ("K7QX-2M9", None),
            ("K7QX-2M9PA", None),
            ("K7QX-2M9U", None),
            ("K7QX_2M9P", None),
            ("K7QX-2M9é", None),
            ("", None),
        ] {
            assert_eq!(Code::read(text).map(|code| code.shown()).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn shown_codes_are_read_back() {
        for _ in 0..100 {
            let code = Code::new().unwrap();
            assert!(Code::read(&code.shown()).is_some_and(|read| read.is(&code)));
        }
        let (one, other) = (Code::new().unwrap(), Code::new().unwrap());
        assert!(!one.is(&other) && !format!("{one:?}").contains(&one.shown()));
    }

    #[test]
    fn compare_codes_have_six_digits() {
        for _ in 0..100 {
            let code = compare_code().unwrap();
            let digits = code.bytes().filter(u8::is_ascii_digit).count();
            assert!(code.len() == 7 && digits == 6 && code.as_bytes()[3] == b' ', "{code}");
        }
    }
}
