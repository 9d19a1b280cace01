//! Parses the output of `env` between two marker lines.

use memchr::memmem;
use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt as _,
};

/// Parses `NAME=value` pairs that end with a zero byte, or with a line break if there are no zero bytes. `None` if a
/// marker is missing or there is nothing in between. Invalid pairs are skipped.
pub(super) fn variables(output: &[u8], marker: &str) -> Option<Vec<(OsString, OsString)>> {
    let line = format!("\n{marker}\n");
    let start = memmem::find(output, line.as_bytes())? + line.len();
    let length = memmem::find(&output[start..], line.as_bytes())?;
    let printed = &output[start..start + length];
    let end = if printed.contains(&0) { 0 } else { b'\n' };
    let pairs: Vec<_> = printed.split(|byte| *byte == end).filter_map(pair).collect();
    (!pairs.is_empty()).then_some(pairs)
}

fn pair(text: &[u8]) -> Option<(OsString, OsString)> {
    let equals = text.iter().position(|byte| *byte == b'=')?;
    let (name, value) = (&text[..equals], &text[equals + 1..]);
    let is_name = !name.is_empty()
        && !name[0].is_ascii_digit()
        && name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    is_name.then(|| (OsStr::from_bytes(name).to_owned(), OsStr::from_bytes(value).to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn both_kinds_of_env_are_read() {
        type Row<'a> = (&'a [u8], &'a [(&'a str, &'a str)]);
        let rows: [Row<'_>; 4] = [
            (b"hi\n\nM\nA=1\0B=x=y\nz\0BASH_FUNC_f%%=() { :; }\0\nM\n", &[("A", "1"), ("B", "x=y\nz")]),
            (b"\nM\nA=1\nB=x=y\nz\n  c=d\n1=2\n\nM\nbye", &[("A", "1"), ("B", "x=y")]),
            (b"\nM\nEMPTY=\0\nM\n", &[("EMPTY", "")]),
            (b"echo M\n\nM\nA=1\0\nM\n", &[("A", "1")]),
        ];
        for (output, expected) in rows {
            let expected: Vec<_> =
                expected.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
            assert_eq!(variables(output, "M"), Some(expected), "{}", String::from_utf8_lossy(output));
        }
    }

    #[test]
    fn half_an_output_is_none() {
        for output in ["", "\nM\n", "\nM\nA=1\0", "A=1\n", "\nM\n\nM\n", "\nM\nnothing\n\nM\n"] {
            assert_eq!(variables(output.as_bytes(), "M"), None, "{output:?}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(output in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut framed = b"\nM\n".to_vec();
            framed.extend(&output);
            framed.extend(b"\nM\n");
            for (name, _) in variables(&framed, "M").unwrap_or_default() {
                prop_assert!(!name.is_empty());
            }
        }
    }
}
