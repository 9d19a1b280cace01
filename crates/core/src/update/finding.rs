//! A ranked place in code or history that answers a goal.

use serde::{Deserialize, Serialize};

/// A place that answers a goal, with the reason why it is shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// What kind of place it is.
    pub kind: FindingKind,
    /// Where it is.
    #[serde(flatten)]
    pub place: Place,
    /// First line, from 1.
    pub start: u64,
    /// Last line, inclusive.
    pub end: u64,
    /// The lines, cut to [`EXCERPT_BYTES`](Self::EXCERPT_BYTES).
    pub excerpt: String,
    /// The definition that holds the lines, or the title of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub symbol: Option<String>,
    /// Relative to the best finding of the same question, which has 1.
    pub score: f32,
    /// One line for people: the matched terms and the signals that counted.
    pub why: String,
}

/// The kinds of places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// A function, type or other named block whose name matches.
    Definition,
    /// Code that uses the terms.
    Usage,
    /// Prose: a README, a manual, a comment.
    Text,
    /// A past session.
    Session,
}

/// Where a finding is.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Place {
    /// In a file of the workspace.
    File {
        /// Relative to the workspace, with `/`.
        path: String,
    },
    /// In a past session; the lines are those of its log.
    Session {
        /// `codex`, `claude-code`.
        provider: String,
        /// Id of the session in its own agent.
        session_id: String,
    },
}

/// What a question found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Findings {
    /// Best first; at most ten.
    pub findings: Vec<Finding>,
    /// What to try next, one line; present when nothing was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// A bound of the search cut it before its end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}

impl Finding {
    /// Bytes of an excerpt.
    pub const EXCERPT_BYTES: usize = 4096;

    /// Returns the place in one line: `src/net.rs:12-40`, or `codex session 1234:7`.
    pub fn citation(&self) -> String {
        let lines = if self.end > self.start {
            format!("{}-{}", self.start, self.end)
        } else {
            self.start.to_string()
        };
        match &self.place {
            Place::File { path } => format!("{path}:{lines}"),
            Place::Session { provider, session_id } => format!("{provider} session {session_id}:{lines}"),
        }
    }
}
