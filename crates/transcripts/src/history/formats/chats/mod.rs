//! The session files of Gemini CLI, which Qwen Code also wrote until 2025: one message is one record after folding.
//!
//! Format: `packages/core/src/services/chatRecordingService.ts` of google-gemini/gemini-cli. The same message is
//! appended again whenever it changes, and a rewind drops the end.

mod decoder;
pub(super) mod discover;
mod fold;
pub(super) mod parts;

pub(super) use decoder::ChatDecoder;
pub(super) use fold::open;
