//! Feeds arbitrary tokens to the Harmony parser, which must not panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use openagents_core::model::{ModelRequest, ToolSpec};
use openagents_llama::{chat::ChatFormat, harmony::Harmony};
use serde_json::json;

/// The first id of a special token.
const SPECIAL: i32 = 199_998;

fuzz_target!(|data: &[u8]| {
    let tool = ToolSpec {
        name: "fs.list_dir".to_owned(),
        description: String::new(),
        parameters: json!({"properties": {"path": {"type": "string"}}}),
    };
    let request = ModelRequest { tools: vec![tool], ..ModelRequest::default() };
    let mut parser = Harmony::new().parser(&request);
    let mut out = Vec::new();
    // Bytes from 0xf0 on, which never occur in valid text, stand for special tokens.
    for byte in data {
        match byte {
            0xf0.. => parser.push(SPECIAL + i32::from(byte - 0xf0), b"<|marker|>", &mut out),
            byte => parser.push(i32::from(*byte), &[*byte], &mut out),
        }
    }
    let _ = parser.finish(None, &mut out);
});
