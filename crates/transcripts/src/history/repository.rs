//! What a log says about the repository in which its session ran.

use super::{
    logs::History,
    transcript::{Provider, Transcript},
};
use openagents_core::budget::Budget;
use serde_json::Value;

/// What a log says about the repository in which its session ran.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RepositoryTrace {
    /// A commit of it, in hexadecimal.
    pub commit: Option<String>,
    /// The URL of its remote.
    pub remote: Option<String>,
}

impl History {
    /// Returns what the first line of a log says about its repository. Codex names the commit and the remote, opencode the
    /// first commit; other agents name nothing. Blocks.
    pub fn repository_trace(&self, session: &Transcript, budget: &Budget) -> RepositoryTrace {
        let first = match session.provider {
            Provider::Codex | Provider::Opencode => self.line(session, 1, budget).ok().flatten(),
            _ => None,
        };
        let first: Value = first.and_then(|line| serde_json::from_str(&line).ok()).unwrap_or_default();
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let git = &first["payload"]["git"];
        let commit = text(&git["commit_hash"]).or_else(|| text(&first["about"]["project"]));
        let is_hash =
            |commit: &String| commit.len() >= 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
        RepositoryTrace { commit: commit.filter(is_hash), remote: text(&git["repository_url"]) }
    }
}
