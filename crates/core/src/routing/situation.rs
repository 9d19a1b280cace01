//! Who could answer at this moment.

use super::Target;
use crate::{
    agent_ids::{CLAUDE_CODE, CODEX, CUSTOM_PREFIX, LOCAL_FM, LOCAL_MODEL},
    delegate::Candidate,
    model::Availability,
};

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

impl Target {
    /// Returns the target that a provider id stands for; `None` for one that people do not call by name.
    pub fn of_mode(mode: &str) -> Option<Self> {
        match mode {
            LOCAL_MODEL => Some(Self::Gptoss),
            CODEX => Some(Self::Codex),
            CLAUDE_CODE => Some(Self::Claude),
            LOCAL_FM => None,
            other => Some(match other.strip_prefix(CUSTOM_PREFIX) {
                Some(id) => Self::Custom(id.to_owned()),
                None => Self::Known(other.to_owned()),
            }),
        }
    }
}
