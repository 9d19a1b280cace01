//! The token usage of a request, which each line of its message repeats.

use crate::history::{
    log_file::origin,
    tokens::{RequestUsage, TokenUsage},
};
use memchr::memmem;
use serde::Deserialize;
use std::borrow::Cow;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    #[serde(borrow)]
    message: Message<'a>,
    #[serde(borrow, default)]
    request_id: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, default)]
    id: Option<Cow<'a, str>>,
    usage: Usage,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Usage {
    input_tokens: u64,
    output_tokens: u64,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
}

/// Returns the usage that a line reports for a request; `None` for most lines.
pub(super) fn request_usage(line: &[u8]) -> Option<RequestUsage> {
    // Quotes in text are escaped, so only a key matches.
    memmem::find(line, b"\"usage\"")?;
    let Line { message: Message { id, usage }, request_id } = serde_json::from_slice(line).ok()?;
    let tokens = TokenUsage {
        input: usage.input_tokens,
        output: usage.output_tokens,
        cache_write: usage.cache_creation_input_tokens.unwrap_or_default(),
        cache_read: usage.cache_read_input_tokens.unwrap_or_default(),
    };
    let request = id.zip(request_id).map(|(message, request)| origin(&format!("{message} {request}")));
    Some(RequestUsage { request, tokens })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Option<(bool, TokenUsage)> {
        request_usage(line.as_bytes()).map(|usage| (usage.request.is_some(), usage.tokens))
    }

    #[test]
    fn every_row() {
        let whole = r#"{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"\"usage\": 1"}],"usage":{"input_tokens":1,"cache_creation_input_tokens":2,"cache_read_input_tokens":3,"output_tokens":4,"service_tier":"x"}},"requestId":"r"}"#;
        let all = TokenUsage { input: 1, output: 4, cache_write: 2, cache_read: 3 };
        let rows = [
            (whole, Some((true, all))),
            (
                r#"{"message":{"usage":{"input_tokens":1}}}"#,
                Some((false, TokenUsage { input: 1, ..TokenUsage::default() })),
            ),
            (r#"{"message":{"id":"m"},"toolUseResult":{"usage":{"input_tokens":1}}}"#, None),
            (r#"{"message":{"role":"user","content":"the usage"}}"#, None),
            (r#"{"message":{"usage":{"input_tokens":1"#, None),
        ];
        for (line, expected) in rows {
            assert_eq!(of(line), expected, "{line}");
        }
    }
}
