//! The engine with real models: SmolLM2, and a tiny gpt-oss with scripted answers.

mod answers;
mod cancel;
mod files;
mod helper;
mod orphan;
#[cfg(test)]
mod support;
