//! One past session, whatever agent wrote it.

use serde::{Deserialize, Serialize, Serializer};
use std::path::{Path, PathBuf};

/// The agent that wrote a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Provider {
    /// OpenAI Codex.
    Codex,
    /// Anthropic Claude Code.
    ClaudeCode,
}

impl Provider {
    /// Every provider.
    pub const ALL: [Self; 2] = [Self::Codex, Self::ClaudeCode];

    /// Returns `codex` or `claude-code`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Codex => "codex",
            Self::ClaudeCode => "claude-code",
        }
    }

    /// Returns the name that a person knows.
    pub fn display_name(self) -> &'static str {
        match self {
            Self::Codex => "Codex",
            Self::ClaudeCode => "Claude Code",
        }
    }

    /// Reads a provider's name; `claude_code`, `claude` and any case are fine.
    pub fn parse(name: &str) -> Option<Self> {
        match name.trim().to_ascii_lowercase().replace(['_', ' '], "-").as_str() {
            "codex" => Some(Self::Codex),
            "claude-code" | "claude" => Some(Self::ClaudeCode),
            _ => None,
        }
    }
}

/// What a list says of one past session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Transcript {
    /// Id in its own agent.
    pub id: String,
    /// The agent that wrote it.
    pub provider: Provider,
    /// By the rules of the agent itself; absent when there is nothing to show.
    pub title: Option<String>,
    /// The directory that it ran in, as recorded.
    #[serde(default, serialize_with = "shown_if_any")]
    pub cwd: Option<PathBuf>,
    /// The git branch.
    pub branch: Option<String>,
    /// The last model used.
    pub model: Option<String>,
    /// Milliseconds since the epoch.
    pub created_at: Option<i64>,
    /// Last change of the file, in milliseconds since the epoch.
    pub updated_at: i64,
    /// The log itself.
    #[serde(serialize_with = "shown")]
    pub file_path: PathBuf,
    /// Prompts of a person, when the whole file was read.
    pub user_turns: Option<u64>,
    /// Tokens used, when the log says so.
    pub tokens: Option<u64>,
    /// The agent's own list would not show it.
    pub hidden: bool,
    /// It was started by another session.
    pub subagent: bool,
    /// Lines that could not be read.
    pub bad_lines: u64,
}

/// Writes a path as a person sees it: a folder whose name is no UTF-8 must not cost a whole list.
fn shown<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

fn shown_if_any<S: Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
    match path {
        Some(path) => shown(path, serializer),
        None => serializer.serialize_none(),
    }
}

/// Which transcripts are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query {
    /// Only of this agent.
    pub provider: Option<Provider>,
    /// Only those that ran in this directory, or in another worktree of its repository.
    pub workspace: Option<PathBuf>,
    /// Only those changed since then, in milliseconds since the epoch.
    pub since: Option<i64>,
    /// Hidden ones and sub-agents too.
    pub all: bool,
    /// At most so many rows; 0 = no cap.
    pub limit: usize,
}

/// A page of transcripts, newest first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Listing {
    /// The rows.
    pub rows: Vec<Transcript>,
    /// How many fit the query before the cap.
    pub total: usize,
    /// The cap cut some.
    pub truncated: bool,
    /// The deadline came first; titles may be missing, and logs may not have been found at all.
    pub timed_out: bool,
    /// Logs that were found but not read. Nobody knows whether they are hidden, so they are left out of `rows` and
    /// `total` unless hidden ones are wanted too; then they are rows without titles.
    pub unread: usize,
}
