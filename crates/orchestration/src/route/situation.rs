//! The available agents and models.

use openagents_core::{model::Availability, update::Target};

/// An agent or model that can be chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The provider's id: `codex`, `claude-code`, `gptoss_20b`, `local_fm`, `custom:<id>`.
    pub id: String,
    /// Display name: `Claude Code`.
    pub name: String,
    /// Prompts do not leave this machine.
    pub local: bool,
    pub availability: Availability,
}

impl Candidate {
    /// Returns why it is unavailable, without a full stop; `None` if it is ready.
    pub fn obstacle(&self) -> Option<&str> {
        match &self.availability {
            Availability::Ready => None,
            Availability::Unavailable(reason) => Some(reason.trim_end_matches('.')),
        }
    }
}

/// The agents that can be chosen, and the user's permissions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Situation {
    /// All candidates, available or not.
    pub candidates: Vec<Candidate>,
    /// Agents off this machine may start without approval.
    pub allows_external: bool,
    pub workspace_agent: Option<Target>,
}

impl Situation {
    pub fn find(&self, target: &Target) -> Option<&Candidate> {
        let id = target.mode()?;
        self.candidates.iter().find(|candidate| candidate.id == id)
    }

    /// Returns why a target is unavailable; `None` if it is ready.
    pub fn obstacle(&self, target: &Target) -> Option<String> {
        match self.find(target) {
            Some(candidate) => candidate.obstacle().map(str::to_owned),
            None => Some(format!("{} is not set up here", self.name(target))),
        }
    }

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

    pub fn is_ready(&self, target: &Target) -> bool {
        self.obstacle(target).is_none()
    }

    /// Returns the ready agents to offer for work: the proposed one first, then those on this machine.
    pub fn offered(&self, proposed: Option<&Target>) -> Vec<Candidate> {
        let agents = self.ready().filter_map(|candidate| Some((Target::of_mode(&candidate.id)?, candidate)));
        let mut agents: Vec<_> = agents.collect();
        agents.sort_by_key(|(target, candidate)| (Some(target) != proposed, !candidate.local));
        agents.into_iter().map(|(_, candidate)| candidate.clone()).collect()
    }

    pub fn ready(&self) -> impl Iterator<Item = &Candidate> {
        self.candidates.iter().filter(|candidate| candidate.obstacle().is_none())
    }
}
