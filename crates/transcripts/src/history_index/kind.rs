//! Kinds of passages.

use crate::history::{EventKind, TitleRank};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    Title = 0,
    Prompt = 1,
    Answer = 2,
    Call = 3,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Title, Self::Prompt, Self::Answer, Self::Call];

    /// Returns the kind with this number in the file.
    pub(super) fn stored(number: u8) -> Self {
        Self::ALL.into_iter().find(|kind| *kind as u8 == number).unwrap_or(Self::Call)
    }

    /// Weight in the ranking: a title says best what a session is about.
    pub(super) fn weight(self) -> f64 {
        match self {
            Self::Title => 3.0,
            Self::Prompt => 2.0,
            Self::Answer => 1.0,
            Self::Call => 0.7,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Title => "title",
            Self::Prompt => "prompt",
            Self::Answer => "answer",
            Self::Call => "call",
        }
    }

    /// Returns the corresponding kind of events.
    pub(super) fn event(self) -> EventKind {
        match self {
            Self::Title => EventKind::Title(TitleRank::Person),
            Self::Prompt => EventKind::Prompt,
            Self::Answer => EventKind::Assistant,
            Self::Call => EventKind::ToolCall { name: String::new() },
        }
    }

    pub(super) fn of(kind: &EventKind) -> Option<Self> {
        match kind {
            EventKind::Prompt => Some(Self::Prompt),
            EventKind::Assistant => Some(Self::Answer),
            EventKind::ToolCall { .. } => Some(Self::Call),
            _ => None,
        }
    }
}
