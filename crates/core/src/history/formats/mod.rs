//! The formats of the agents, a folder each.

mod calls;
mod chats;
mod claude;
mod codex;
mod copilot;
mod gemini;
mod qwen;

use super::{format::Format, transcript::Provider};

/// Returns how an agent keeps its sessions.
pub(super) fn of(provider: Provider) -> &'static dyn Format {
    match provider {
        Provider::Codex => &codex::Codex,
        Provider::ClaudeCode => &claude::Claude,
        Provider::Gemini => &gemini::Gemini,
        Provider::Qwen => &qwen::Qwen,
        Provider::Copilot => &copilot::Copilot,
    }
}
