//! Sessions for other readers: files, and briefs for other agents.

use crate::history::SessionName;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// The form of an exported session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "lowercase")]
pub enum ExportFormat {
    #[default]
    Markdown,
    /// One page without scripts and without references to other files.
    Html,
    Json,
}

/// How much of the tools' output is exported.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "lowercase")]
pub enum ExportedTools {
    /// The first 20 lines of each output.
    #[default]
    Short,
    Full,
    /// Only which tools were called.
    None,
}

/// Params of `_openagents/export/prepare`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct PrepareExport {
    /// The agent that keeps the session: `claude-code`, `codex`, …; absent for a session here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    pub id: String,
    #[serde(default)]
    #[ts(optional, as = "Option<ExportFormat>")]
    pub format: ExportFormat,
    #[serde(default)]
    #[ts(optional, as = "Option<ExportedTools>")]
    pub tools: ExportedTools,
    /// Secrets that stay in the file, by their places in the list of an earlier answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<usize>>")]
    pub shown: Vec<usize>,
}

/// A secret in a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct SessionSecret {
    /// What it is, such as `github-pat`.
    pub rule: String,
    /// The line of the session's log.
    #[ts(type = "number")]
    pub line: u64,
    /// Its first three characters.
    pub beginning: String,
}

/// An export that waits to be read, for ten minutes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct PreparedExport {
    /// Names it in `_openagents/export/read`.
    pub export: String,
    /// A name for the file, with its ending.
    pub name: String,
    /// Size of the file.
    pub bytes: usize,
    /// All secrets that were found, hidden or not.
    pub secrets: Vec<SessionSecret>,
    /// Messages and calls at the beginning, at least so many, that are left out because the file would be too long.
    pub omitted: usize,
}

/// Params of `_openagents/export/read`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ReadExport {
    pub export: String,
    /// The byte to begin at: 0, then `next` of the last answer.
    pub offset: usize,
}

/// At most 256 KiB of an export.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ExportPart {
    pub text: String,
    /// Where the next part begins; absent after the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<usize>,
}

/// Params of `_openagents/continue/brief`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct BriefQuery {
    #[serde(flatten)]
    pub session: SessionName,
    /// Id of the agent that reads the brief: its context limits the size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Maximum size: 200 to 32,000 tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<usize>,
    /// Secrets that stay, by their places in the list of an earlier answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<usize>>")]
    pub shown: Vec<usize>,
}

/// What another agent needs to know to continue a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SessionBrief {
    pub text: String,
    /// The lines of the text that quote the session's log.
    pub lines: Vec<BriefLine>,
    /// Lines that were left out because the brief would be too long.
    pub left_out: usize,
    /// Estimated size.
    pub tokens: usize,
    /// All secrets of the session that were found, hidden or not.
    pub secrets: Vec<SessionSecret>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct BriefLine {
    /// The line of the text, from 1.
    pub line: usize,
    /// The line of the log, from 1.
    #[ts(type = "number")]
    pub source: u64,
}
