//! Who could answer at this moment.

use crate::{model::Availability, update::Target};

/// An agent or model that can be chosen to answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The provider's id: `codex`, `claude-code`, `gptoss_20b`, `local_fm`, `custom:<id>`.
    pub id: String,
    /// The name that people read and write: `Claude Code`.
    pub name: String,
    /// Nothing that it is told leaves this machine.
    pub local: bool,
    /// Whether it would answer now.
    pub availability: Availability,
}

/// Who could answer, and what the session allows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Situation {
    /// Everybody who can be chosen, available or not.
    pub candidates: Vec<Candidate>,
    /// What is asked may leave this machine without an agent being named.
    pub allows_external: bool,
}

impl Situation {
    /// Finds who stands behind a target.
    pub fn find(&self, target: &Target) -> Option<&Candidate> {
        let id = target.mode()?;
        self.candidates.iter().find(|candidate| candidate.id == id)
    }

    /// Returns why a target would not answer; `None` when it would.
    pub fn obstacle(&self, target: &Target) -> Option<String> {
        match self.find(target).map(|candidate| &candidate.availability) {
            Some(Availability::Ready) => None,
            Some(Availability::Unavailable(reason)) => Some(reason.trim_end_matches('.').to_owned()),
            None => Some(format!("{} is not set up here", self.name(target))),
        }
    }

    /// Returns the name that people read.
    pub fn name(&self, target: &Target) -> String {
        if let Some(candidate) = self.find(target) {
            return candidate.name.clone();
        }
        match target {
            Target::Inline => "OpenAgents".to_owned(),
            Target::Gptoss => "gpt-oss 20B".to_owned(),
            Target::Codex => "Codex".to_owned(),
            Target::Claude => "Claude Code".to_owned(),
            Target::Known(id) | Target::Custom(id) => id.clone(),
        }
    }

    /// Lists who would answer now.
    pub fn ready(&self) -> impl Iterator<Item = &Candidate> {
        self.candidates.iter().filter(|candidate| candidate.availability == Availability::Ready)
    }
}
