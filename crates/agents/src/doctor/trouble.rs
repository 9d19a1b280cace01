//! A problem with an agent and its remedy.

use openagents_core::{agent::AgentCard, text::sentence};

/// Two clauses without an initial capital or a full stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Trouble {
    problem: String,
    remedy: String,
}

impl Trouble {
    pub(crate) fn new(problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { problem: problem.into(), remedy: remedy.into() }
    }

    /// Adds it to a card as two sentences.
    pub(crate) fn show(&self, card: &mut AgentCard) {
        card.problem = Some(sentence(&self.problem));
        card.remedy = Some(sentence(&self.remedy));
    }
}

impl std::fmt::Display for Trouble {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}; {}", self.problem, self.remedy)
    }
}
