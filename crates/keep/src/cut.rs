//! Finds the parts of a file that are worth storing once: agents repeat messages, tool output and images when they
//! compact a conversation, start a sub-agent or branch a session.

use fastcdc::v2020::FastCDC;
use std::ops::Range;

/// Length in bytes of the shortest value: a shorter one costs more than it saves.
const SHORTEST: usize = 512;

/// Length in bytes of the longest object or list that is one value; longer ones differ in some part.
const LONGEST_CONTAINER: usize = 16 * 1024;

/// Containers nested deeper are part of the value around them.
const DEPTH: usize = 64;

/// Sizes in bytes of the chunks of data that is not JSON: least, average, most.
const CHUNK: (u32, u32, u32) = (16 * 1024, 64 * 1024, 256 * 1024);

/// How a file changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileKind {
    /// Its lines are appended.
    Lines,
    /// It is one JSON document, written anew each time.
    Document,
}

impl FileKind {
    /// Returns the kind of a file by its name.
    pub(crate) fn of(name: &str) -> Self {
        if name.ends_with(".json") { Self::Document } else { Self::Lines }
    }
}

/// Returns the values of a JSON text that are stored once, in order: strings, and objects and lists that are not too
/// long; never the whole text, whose time or id differs in each copy. Any bytes are accepted.
pub(crate) fn values(json: &[u8]) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    // The start of each open container, and the number of values found before it.
    let mut open: Vec<(usize, usize)> = Vec::new();
    let (mut deeper, mut at) = (0_usize, 0);
    while let Some(byte) = json.get(at) {
        match byte {
            b'"' => {
                let end = end_of_string(json, at + 1);
                if end - at >= SHORTEST {
                    found.push(at..end);
                }
                at = end;
                continue;
            }
            b'{' | b'[' if open.len() == DEPTH => deeper += 1,
            b'{' | b'[' => open.push((at, found.len())),
            b'}' | b']' if deeper > 0 => deeper -= 1,
            b'}' | b']' => {
                let Some((start, before)) = open.pop() else {
                    at += 1;
                    continue;
                };
                let is_value = (SHORTEST..=LONGEST_CONTAINER).contains(&(at + 1 - start));
                if is_value && !open.is_empty() {
                    found.truncate(before);
                    found.push(start..at + 1);
                }
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// Returns the position after the quote that ends a string, or the end of the text.
fn end_of_string(json: &[u8], mut at: usize) -> usize {
    while let Some(found) = json.get(at..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
        at += found;
        if json[at] == b'"' {
            return at + 1;
        }
        at += 2;
    }
    json.len()
}

/// Returns chunks whose limits depend on the bytes around them, so that data that moved is found again.
pub(crate) fn chunks(data: &[u8]) -> Vec<Range<usize>> {
    let (least, average, most) = CHUNK;
    FastCDC::new(data, least as _, average as _, most as _)
        .map(|chunk| chunk.offset..chunk.offset + chunk.length)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(json: &str) -> Vec<&str> {
        values(json.as_bytes()).into_iter().map(|range| &json[range]).collect()
    }

    #[test]
    fn values_are_the_largest_parts_that_can_recur() {
        let text = format!("\"{}\"", "x".repeat(600));
        let message = format!("{{\"role\":\"user\",\"text\":{text}}}");
        let line = format!("{{\"at\":1,\"message\":{message}}}");
        assert_eq!(shown(&line), [&message], "the message, not the text in it");
        let history = format!("{{\"at\":2,\"history\":[{}]}}", vec![message.as_str(); 40].join(","));
        assert_eq!(shown(&history), vec![message.as_str(); 40], "a list that is too long is its items");
        let image = format!("\"{}\"", "i".repeat(100_000));
        let line = format!("{{\"message\":{{\"image\":{image},\"text\":{text}}}}}");
        assert_eq!(shown(&line), [&image, &text], "a string of any length");
        assert_eq!(shown(&message), [&text], "the text, not the line around it");
        let escaped = format!("\"{}\\\"\"", "x".repeat(600));
        assert_eq!(shown(&format!("{{\"a\":{escaped},\"b\":1}}")), [&escaped]);
        assert_eq!(shown(r#"{"a":"short"}"#), [""; 0]);
    }

    #[test]
    fn deeply_nested_text_is_bounded() {
        let deep = "[".repeat(1 << 20);
        assert!(values(deep.as_bytes()).is_empty());
        let closed = format!("{deep}{}", "]".repeat(1 << 20));
        assert!(values(closed.as_bytes()).is_empty());
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

        #[test]
        fn values_are_ordered_ranges(bytes in prop::collection::vec(
            prop_oneof![Just(b'"'), Just(b'{'), Just(b'}'), Just(b'['), Just(b']'), Just(b'\\'), any::<u8>()], 0..4000,
        )) {
            let mut end = 0;
            for range in values(&bytes) {
                prop_assert!(range.start >= end && range.len() >= SHORTEST && range.end <= bytes.len());
                end = range.end;
            }
        }

        #[test]
        fn chunks_cover_everything(length in 0..300_000_usize, seed in any::<u64>()) {
            let mut random = fastrand::Rng::with_seed(seed);
            let data: Vec<u8> = (0..length).map(|_| random.u8(..)).collect();
            let mut end = 0;
            for range in chunks(&data) {
                prop_assert_eq!(range.start, end);
                end = range.end;
            }
            prop_assert_eq!(end, data.len());
        }
    }
}
