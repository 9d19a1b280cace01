//! The logs of Anthropic's Claude Code ("projects"), all versions.
//!
//! Formats: the session functions of claude-agent-sdk-python, and logs of 1.0 to 2.1.330. A folder name is a lossy form
//! of the project's path, so the path is read from the lines. Titles are lines of the log itself.

mod decoder;
mod discover;
mod line;
mod summary;

pub(crate) use decoder::ClaudeDecoder;
pub(crate) use discover::discover;
pub(crate) use summary::summarise;
