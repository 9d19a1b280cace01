//! The summary of an exploration.

use super::{finding::Finding, overview::Overview};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// The result of an exploration, with evidence.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct Summary {
    /// Name of the workspace.
    pub repository: String,
    /// One sentence; absent if no intent was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<String>,
    /// Source of the sentence.
    pub source: IntentSource,
    /// Name of the model, if the source is [`IntentSource::Model`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Up to five sessions, newest first.
    #[serde(default)]
    pub recent_work: Vec<RecentWork>,
    /// Up to five paths relative to the workspace, most edited first.
    #[serde(default)]
    pub top_files: Vec<String>,
    /// Up to three suggested prompts.
    #[serde(default)]
    pub followups: Vec<String>,
    /// Evidence for the sentence.
    #[serde(default)]
    pub evidence: Vec<Evidence>,
    /// Findings for the goals, best first; empty without goals.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// Of an exploration without goals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overview: Option<Overview>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum IntentSource {
    /// Past sessions of this workspace.
    SessionAnalyze,
    /// Apple's Foundation Models.
    Fm,
    /// gpt-oss.
    Gptoss,
    Model,
    /// The repository's description of itself.
    Readme,
    #[default]
    None,
}

impl IntentSource {
    /// Returns the name in `fm.analysis` results: `session.analyze`, `fm`, `gptoss`, `model`, `readme`, `none`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SessionAnalyze => "session.analyze",
            Self::Fm => "fm",
            Self::Gptoss => "gptoss",
            Self::Model => "model",
            Self::Readme => "readme",
            Self::None => "none",
        }
    }
}

impl Summary {
    /// Returns the Markdown heading of the final message, with the true source of the sentence.
    pub fn heading(&self) -> Option<String> {
        let source = match self.source {
            IntentSource::SessionAnalyze => return Some("**Intent From Session History:**".to_owned()),
            IntentSource::Fm => "FM",
            IntentSource::Gptoss => "GPTOSS",
            IntentSource::Model => self.model.as_deref().unwrap_or("model"),
            IntentSource::Readme => "README",
            IntentSource::None => return None,
        };
        Some(format!("**Inferred Intent ({source}):**"))
    }
}

/// A past session listed as recent work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
pub struct RecentWork {
    pub title: String,
    /// `codex`, `claude-code`.
    pub provider: String,
    pub session_id: String,
    /// Last change, in milliseconds since the epoch.
    pub updated_at: i64,
}

/// Evidence for a claim: a place, with the line from 1 and its text, truncated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Evidence {
    File {
        path: String,
        line: u64,
        text: String,
    },
    /// A line of a past session; 0 if the evidence is the session's title.
    Session {
        provider: String,
        session_id: String,
        line: u64,
        text: String,
    },
}
