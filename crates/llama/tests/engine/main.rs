//! The engine with real models: SmolLM2, and a tiny gpt-oss that says what a test wants.

#![cfg(all(unix, feature = "engine"))]

mod answers;
mod cancel;
mod files;
mod helper;
mod orphan;
#[cfg(test)]
mod support;
