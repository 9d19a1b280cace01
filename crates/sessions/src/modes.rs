//! The modes of a session.

use openagents_core::{
    agent::Agents,
    agent_ids::LOCAL_MODEL,
    model::{Availability, LocalModels},
};

pub const DEFAULT_MODE: &str = "default_mode";

/// A mode, as shown to users.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mode {
    pub id: String,
    pub name: String,
    /// One sentence.
    pub description: &'static str,
    /// Nothing leaves this machine in this mode.
    pub local: bool,
    /// The reason a prompt would fail now. The mode can still be chosen.
    pub unavailable: Option<String>,
}

pub(crate) fn available(models: Option<&dyn LocalModels>, agents: Option<&dyn Agents>) -> Vec<Mode> {
    let own = Mode {
        id: DEFAULT_MODE.to_owned(),
        name: "OpenAgents".to_owned(),
        description: match agents {
            Some(_) => "OpenAgents chooses who answers",
            None => "Explores the folder and summarizes recent work in it",
        },
        local: agents.is_none(),
        unavailable: None,
    };
    let local = models.map(|models| Mode {
        id: LOCAL_MODEL.to_owned(),
        name: models.model().name(),
        description: "Answers with the model on this computer; nothing leaves it",
        local: true,
        unavailable: reason(models.model().availability()),
    });
    let agents = agents.map(Agents::providers).unwrap_or_default();
    let agents = agents.into_iter().map(|agent| Mode {
        id: agent.id().to_owned(),
        name: agent.name(),
        description: match agent.is_local() {
            true => "Works in the folder; nothing leaves this computer",
            false => "Works in the folder and uses an online service",
        },
        local: agent.is_local(),
        unavailable: reason(agent.availability()),
    });
    std::iter::once(own).chain(local).chain(agents).collect()
}

fn reason(availability: Availability) -> Option<String> {
    match availability {
        Availability::Ready => None,
        Availability::Unavailable(reason) => Some(reason),
    }
}
