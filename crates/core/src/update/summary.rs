//! What an exploration says at its end.

use super::Finding;
use serde::{Deserialize, Serialize};

/// What an exploration found out, with the evidence for it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Name of the workspace.
    pub repository: String,
    /// One sentence; absent when nothing could be said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<String>,
    /// Where the sentence comes from.
    pub source: IntentSource,
    /// Up to five sessions, newest first.
    #[serde(default)]
    pub recent_work: Vec<RecentWork>,
    /// Up to five paths relative to the workspace, most touched first.
    #[serde(default)]
    pub top_files: Vec<String>,
    /// Up to three prompts that a person may want to send next.
    #[serde(default)]
    pub followups: Vec<String>,
    /// What the sentence rests on.
    #[serde(default)]
    pub evidence: Vec<Evidence>,
    /// What answers the goals, best first; empty without goals.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
}

/// Where an intent sentence comes from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IntentSource {
    /// Past sessions of this workspace.
    SessionAnalyze,
    /// Apple's Foundation Models.
    Fm,
    /// gpt-oss.
    Gptoss,
    /// What the repository says about itself.
    Readme,
    /// Nothing could be said.
    #[default]
    None,
}

impl IntentSource {
    /// Returns the word that goes into `fm.analysis` results: `session.analyze`, `fm`, `gptoss`, `readme`, `none`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SessionAnalyze => "session.analyze",
            Self::Fm => "fm",
            Self::Gptoss => "gptoss",
            Self::Readme => "readme",
            Self::None => "none",
        }
    }

    /// Returns the Markdown heading of the final message.
    pub fn heading(self) -> Option<&'static str> {
        match self {
            Self::SessionAnalyze => Some("**Intent From Session History:**"),
            Self::Fm => Some("**Inferred Intent (FM):**"),
            Self::Gptoss => Some("**Inferred Intent (GPTOSS):**"),
            Self::Readme => Some("**Inferred Intent (README):**"),
            Self::None => None,
        }
    }
}

/// A past session that counts as recent work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecentWork {
    /// Title of the session.
    pub title: String,
    /// `codex`, `claude-code`.
    pub provider: String,
    /// Id of the session in its own agent.
    pub session_id: String,
    /// Last change, in milliseconds since the epoch.
    pub updated_at: i64,
}

/// A place that a claim rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Evidence {
    /// A line of a file in the workspace.
    File {
        /// Relative to the workspace.
        path: String,
        /// From 1.
        line: u64,
        /// The line, shortened.
        text: String,
    },
    /// A line of a past session.
    Session {
        /// `codex`, `claude-code`.
        provider: String,
        /// Id of the session in its own agent.
        session_id: String,
        /// From 1; 0 when the claim rests on the session's title.
        line: u64,
        /// The line, shortened.
        text: String,
    },
}
