//! The formats of the agents, one folder each.

mod amp;
mod calls;
mod chats;
mod claude;
mod cline;
mod codex;
mod copilot;
mod cursor;
mod droid;
mod folder;
mod gemini;
mod goose;
mod opencode;
mod pi;
mod qwen;
mod records;

use super::{format::Format, transcript::Provider};

pub(super) fn of(provider: Provider) -> &'static dyn Format {
    match provider {
        Provider::Codex => &codex::Codex,
        Provider::ClaudeCode => &claude::Claude,
        Provider::Gemini => &gemini::Gemini,
        Provider::Qwen => &qwen::Qwen,
        Provider::Copilot => &copilot::Copilot,
        Provider::Pi => &pi::Pi,
        Provider::OpenClaw => &pi::OpenClaw,
        Provider::Cursor => &cursor::Cursor,
        Provider::Amp => &amp::Amp,
        Provider::Cline => &cline::Cline,
        Provider::Droid => &droid::Droid,
        Provider::Opencode => &opencode::Opencode,
        Provider::Goose => &goose::Goose,
    }
}
