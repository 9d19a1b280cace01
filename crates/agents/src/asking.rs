//! An agent's asking level: the session options that make it ask before it acts.

use openagents_core::update::{Asking, SessionOption};

/// How an agent is made to ask before it acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskingLevel {
    /// By options of each session, which the agent reports back.
    Settings(&'static [LevelSetting]),
    /// By environment variables of its process.
    Variables,
    /// Not at all: the agent decides when to ask.
    ItsOwn,
}

/// An option of a session that decides what the agent asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LevelSetting {
    /// The option's id: `mode`, `allow_all`.
    pub id: &'static str,
    /// The value that we set, with which the agent asks before it acts.
    pub asks: &'static str,
    /// What the agent asks with its other values.
    pub others: &'static [(&'static str, Asking)],
    /// Whether every session offers the option. If so, no prompt is sent without it;
    /// otherwise it is set where offered.
    pub is_always_offered: bool,
}

/// The id and category of a session's mode.
pub(crate) const MODE: &str = "mode";

impl AskingLevel {
    /// Returns what the agent asks with a value of an option; `None` if that is unknown.
    pub(crate) fn of(self, option: &SessionOption, value: &str) -> Option<Asking> {
        let Self::Settings(settings) = self else { return None };
        settings.iter().find(|setting| setting.is_for(option))?.level(value)
    }

    /// Returns whether an option decides, or may decide, what the agent asks.
    pub(crate) fn depends_on(self, option: &SessionOption) -> bool {
        let is_mode = option.id == MODE || option.category.as_deref() == Some(MODE);
        match self {
            Self::Settings(settings) => is_mode || settings.iter().any(|setting| setting.is_for(option)),
            Self::Variables | Self::ItsOwn => is_mode,
        }
    }
}

impl LevelSetting {
    /// The session's mode, with the value that asks and what the agent asks with the others.
    pub const fn mode(asks: &'static str, others: &'static [(&'static str, Asking)]) -> Self {
        Self { id: MODE, asks, others, is_always_offered: true }
    }

    /// Returns the option's name for use in a sentence.
    pub(crate) fn word(&self) -> &'static str {
        if self.id == MODE { "mode" } else { self.id }
    }

    pub(crate) fn is_for(&self, option: &SessionOption) -> bool {
        option.id == self.id || self.id == MODE && option.category.as_deref() == Some(MODE)
    }

    fn level(&self, value: &str) -> Option<Asking> {
        if value == self.asks {
            return Some(Asking::Ask);
        }
        self.others.iter().find(|(known, _)| *known == value).map(|(_, level)| *level)
    }

    pub(crate) fn asks_with(&self, value: &str) -> bool {
        matches!(self.level(value), Some(Asking::Ask | Asking::Plan))
    }
}
