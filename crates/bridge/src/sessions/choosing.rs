//! Who answers a prompt when a person leaves the choice to OpenAgents.

use super::{
    hub::Hub,
    replying::Reply,
    running::Runner,
    session::Session,
    turn::{Choice, Prompt, Work},
};
use openagents_core::{
    CancellationToken,
    agent_ids::{LOCAL_FM, LOCAL_MODEL},
    model::{Availability, LanguageModel},
    routing::{self, Candidate, Router, Situation, Topic},
    update::{Inline, SessionUpdate},
};
use std::sync::Arc;

/// Chooses who answers, and says so in the session. Blocks.
pub(super) fn choose(
    hub: &Arc<Hub>,
    choice: Choice,
    session: &Arc<Session>,
    cancel: &CancellationToken,
) -> Work {
    let runner = hub.runner();
    if !hub.agent_settings().choose {
        return Work::Exploration(choice.exploration);
    }
    let situation = hub.situation(session);
    let decision = runner.router().decide(choice.said.words(), &situation, cancel);
    let explores = decision.inline == Some(Inline::Explore);
    // What is attached is not the person's own: it decides nothing, and is not looked at again.
    let topic = routing::topic(choice.said.words(), &situation);
    let is_talk = topic.as_ref().is_some_and(|topic| *topic != Topic::Explanation);
    // With nobody to choose from there is no choice, but for talk.
    if !runner.has_anybody() && !is_talk {
        return Work::Exploration(choice.exploration);
    }
    session.append(vec![SessionUpdate::Routed(decision.clone())]);
    if let Err(error) = hub.store().record_decision(session.id(), choice.said.words(), &decision) {
        tracing::warn!(%error, "a decision is not kept");
    }
    match decision.target.mode() {
        Some(provider) => Work::Prompt(Prompt { provider, root: choice.exploration.root, said: choice.said }),
        None if explores => Work::Exploration(choice.exploration),
        None => {
            let root = choice.exploration.root;
            Work::Inline(Box::new(Reply { text: choice.said.text, root, topic, decision }))
        }
    }
}

impl Hub {
    /// Returns who could answer in a session now.
    pub(super) fn situation(&self, session: &Session) -> Situation {
        Situation { candidates: self.runner().candidates(), allows_external: self.allows_external(session) }
    }

    /// Returns whether agents off this machine may be chosen in a session without being named.
    pub(super) fn allows_external(&self, session: &Session) -> bool {
        session.policy().allow_external_llms || self.agent_settings().allow_external_llms
    }
}

impl Runner {
    /// Returns a model on this machine that answers in a moment.
    pub(super) fn at_hand(&self) -> Option<Arc<dyn LanguageModel>> {
        let is_at_hand = |model: &Arc<dyn LanguageModel>| {
            let can = model.capabilities();
            can.local && can.loaded && model.availability() == Availability::Ready
        };
        self.router().models.into_iter().find(is_at_hand)
    }

    fn router(&self) -> Router {
        let local = self.models.as_ref().map(|models| models.model());
        Router { models: self.foundation.iter().cloned().chain(local).collect() }
    }

    fn has_anybody(&self) -> bool {
        self.models.is_some() || self.agents.is_some() || self.foundation.is_some()
    }

    /// Returns everybody that a prompt or a task can be given to, available or not.
    pub(super) fn candidates(&self) -> Vec<Candidate> {
        let model = |id: &str, model: Arc<dyn LanguageModel>| Candidate {
            id: id.to_owned(),
            name: model.name(),
            local: true,
            availability: model.availability(),
        };
        let local = self.models.as_ref().map(|models| model(LOCAL_MODEL, models.model()));
        let foundation = self.foundation.as_ref().map(|foundation| model(LOCAL_FM, foundation.clone()));
        let agents = self.agents.as_ref().map(|agents| agents.providers()).unwrap_or_default();
        let agents = agents.into_iter().map(|agent| Candidate {
            id: agent.id().to_owned(),
            name: agent.name(),
            local: agent.is_local(),
            availability: agent.availability(),
        });
        agents.chain(local).chain(foundation).collect()
    }
}
