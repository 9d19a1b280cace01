//! Renders arbitrary templates and parses arbitrary answers: neither may panic or hang.
#![no_main]

use libfuzzer_sys::fuzz_target;
use openagents_core::model::ModelRequest;
use openagents_llama::chat::{ChatFormat, TemplateFormat};

fuzz_target!(|data: (&str, Vec<&[u8]>)| {
    let (source, answer) = data;
    let Ok(format) = TemplateFormat::new(source, "<s>", "</s>") else { return };
    let mut parser = format.parser(&ModelRequest::default());
    let mut out = Vec::new();
    for bytes in answer {
        parser.push(0, bytes, &mut out);
    }
    let _ = parser.finish(None, &mut out);
});
