//! Sessions that an agent deletes when it starts, according to its own settings. Only reads the agent's files.

mod claude_code;
mod gemini_cli;
mod place;

pub use place::Place;

use crate::history::Provider;
use std::time::Duration;

/// An agent that deletes its sessions some time after their last use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retention {
    /// See [`claude_code`].
    ClaudeCode,
    /// See [`gemini_cli`].
    GeminiCli,
}

impl Retention {
    /// Returns how many sessions the agent deletes at its next start; 0 if its files cannot be read.
    pub fn count_due(self, place: &Place<'_>) -> usize {
        match self {
            Self::ClaudeCode => claude_code::count_due(place),
            Self::GeminiCli => gemini_cli::count_due(place),
        }
    }
}

impl Retention {
    /// Returns how an agent deletes its sessions; `None` if it does not.
    pub fn of(provider: Provider) -> Option<Self> {
        match provider {
            Provider::ClaudeCode => Some(Self::ClaudeCode),
            Provider::Gemini => Some(Self::GeminiCli),
            _ => None,
        }
    }

    pub fn provider(self) -> Provider {
        match self {
            Self::ClaudeCode => Provider::ClaudeCode,
            Self::GeminiCli => Provider::Gemini,
        }
    }

    /// Returns for how long the agent keeps sessions according to the user's own settings; `None` for ever.
    pub fn period(self, place: &Place<'_>) -> Option<Duration> {
        match self {
            Self::ClaudeCode => claude_code::period(place),
            Self::GeminiCli => gemini_cli::period(place),
        }
    }

    /// Returns whether the settings that an organization manages say for how long sessions are kept.
    pub fn is_managed(self) -> bool {
        match self {
            Self::ClaudeCode => claude_code::is_managed(),
            Self::GeminiCli => gemini_cli::is_managed(),
        }
    }
}

/// Returns a note, shown before the start, on how many sessions the agent deletes; `unkept` is the number of those
/// without a copy, if copies are kept.
pub fn deletion_note(agent: &str, sessions: usize, unkept: Option<usize>) -> String {
    let count =
        |sessions| if sessions == 1 { "1 session".to_owned() } else { format!("{sessions} sessions") };
    let rest = match unkept {
        None => "Its own settings say how long it keeps them.".to_owned(),
        Some(0) => "OpenAgents has copies of them.".to_owned(),
        Some(unkept) => format!("{} of them could not be copied first.", count(unkept)),
    };
    format!("*{agent} deletes {} as it starts. {rest}*", count(sessions))
}
