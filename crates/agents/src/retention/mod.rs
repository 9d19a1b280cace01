//! Sessions that an agent deletes when it starts, according to its own settings. Only reads the agent's files.

mod claude_code;
mod gemini_cli;
mod place;

pub(crate) use place::Place;

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
    pub(crate) fn count_due(self, place: &Place<'_>) -> usize {
        match self {
            Self::ClaudeCode => claude_code::count_due(place),
            Self::GeminiCli => gemini_cli::count_due(place),
        }
    }
}

/// Returns a note, shown before the start, on how many sessions the agent deletes; `None` if it deletes none.
pub(crate) fn note(agent: &str, sessions: usize) -> Option<String> {
    let count = if sessions == 1 { "1 session".to_owned() } else { format!("{sessions} sessions") };
    (sessions > 0).then(|| {
        format!("*{agent} deletes {count} as it starts. Its own settings say how long it keeps them.*")
    })
}
