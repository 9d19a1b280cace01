//! How each agent reports the requests that it made.

mod chats;
mod claude;
mod codex;
mod databases;
mod documents;
mod fields;
mod lines;

pub(super) use self::{
    chats::{gemini, qwen},
    claude::claude,
    codex::codex,
    databases::{goose, opencode},
    documents::{amp, cline, droid},
    lines::{copilot, openclaw, pi},
};
