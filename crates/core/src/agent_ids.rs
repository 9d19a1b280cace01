//! Ids of agents and models, used as providers and session modes in logs, settings and on every wire.

/// Codex.
pub const CODEX: &str = "codex";
/// Claude Code.
pub const CLAUDE_CODE: &str = "claude-code";
/// The local model.
pub const LOCAL_MODEL: &str = "gptoss_20b";
/// Apple's Foundation Models; never a mode.
pub const LOCAL_FM: &str = "local_fm";
/// Prefix of added agents: `custom:<id>`.
pub const CUSTOM_PREFIX: &str = "custom:";
