//! Sessions that an agent deletes by itself when it is started, as its own settings say. Only reads its files.

mod claude_code;
mod gemini_cli;
mod place;

pub(crate) use place::Place;

/// An agent that deletes its sessions some time after they were used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retention {
    /// See [`claude_code`].
    ClaudeCode,
    /// See [`gemini_cli`].
    GeminiCli,
}

impl Retention {
    /// Returns how many sessions it deletes at its next start. 0 as well if its files cannot be read.
    pub(crate) fn due(self, place: &Place<'_>) -> usize {
        match self {
            Self::ClaudeCode => claude_code::due(place),
            Self::GeminiCli => gemini_cli::due(place),
        }
    }
}

/// Says before a start how many sessions the agent deletes; `None` if it deletes none.
pub(crate) fn note(agent: &str, sessions: usize) -> Option<String> {
    let count = if sessions == 1 { "1 session".to_owned() } else { format!("{sessions} sessions") };
    (sessions > 0).then(|| {
        format!("*{agent} deletes {count} as it starts. Its own settings say how long it keeps them.*")
    })
}
