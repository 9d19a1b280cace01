//! Ids of agents and models, used as providers and session modes in logs, in settings and on the wire, and the names of
//! the tools that call another agent or model.

pub const CODEX: &str = "codex";
pub const CLAUDE_CODE: &str = "claude-code";
pub const LOCAL_MODEL: &str = "gptoss_20b";
/// Apple's Foundation Models; never a mode.
pub const LOCAL_FM: &str = "local_fm";
/// Prefix of added agents: `custom:<id>`.
pub const CUSTOM_PREFIX: &str = "custom:";

/// The tool that gives a task to the local model.
pub const GENERATE: &str = "gptoss.generate";
/// The tool that hands a task to another agent.
pub const DELEGATE: &str = "delegate.run";
/// An older name of [`DELEGATE`], with `provider: "codex"`.
pub const CODEX_RUN: &str = "codex.run";
