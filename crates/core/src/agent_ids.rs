//! Ids of agents and models, used as providers and session modes in logs, settings and on every wire, and the names of
//! the tools that ask another of them.

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

/// The tool that has the local model do a task.
pub const GENERATE: &str = "gptoss.generate";
/// The tool that hands a task to another agent.
pub const DELEGATE: &str = "delegate.run";
/// An older name of it, with `provider: "codex"`.
pub const CODEX_RUN: &str = "codex.run";
