//! Who answers a prompt when a person leaves the choice to OpenAgents.

use super::{
    card::Card,
    hub::Hub,
    replying::Reply,
    running::Runner,
    session::Session,
    turn::{Choice, Prompt, Said, Work},
};
use openagents_core::{
    agent_ids::{LOCAL_FM, LOCAL_MODEL},
    model::LanguageModel,
    route::{Candidate, Route, Situation, route},
    update::{Inline, SessionUpdate, Target},
};
use std::sync::Arc;

/// Chooses who answers, and says so in the session. Blocks.
pub(super) fn choose(hub: &Arc<Hub>, choice: Choice, session: &Arc<Session>) -> Work {
    let Choice { said, exploration, shows_cards } = choice;
    if !hub.agent_settings().choose {
        return Work::Exploration(exploration);
    }
    let situation = hub.situation(session);
    // What is attached is not the person's own: it decides nothing.
    let Route { decision, topic, prompt } = route(said.words(), &situation);
    // Without models and agents there is no choice, but for talk.
    if !hub.runner().has_anybody() && topic.is_none() {
        return Work::Exploration(exploration);
    }
    session.append(vec![SessionUpdate::Routed(decision.clone())]);
    if let Err(error) = hub.store().record_decision(session.id(), said.words(), &decision) {
        tracing::warn!(%error, "a decision is not kept");
    }
    let root = exploration.root;
    match (decision.inline, decision.target.mode()) {
        (Some(Inline::Card), _) if shows_cards => Work::Card(Box::new(Card { said, root, decision })),
        (None, Some(provider)) => {
            let said = without_mention(&said, prompt);
            Work::Prompt(Prompt { provider, root, said })
        }
        _ => Work::Inline(Box::new(Reply { said, root, topic, decision })),
    }
}

/// Returns what was said without the `@agent` at its beginning; `rest` is what of the person's words follows it.
fn without_mention(said: &Said, rest: &str) -> Said {
    let words = said.words();
    match said.text.strip_prefix(words) {
        Some(attached) if rest != words => {
            Said { text: format!("{rest}{attached}"), words: said.words.is_some().then(|| rest.to_owned()) }
        }
        _ => said.clone(),
    }
}

impl Hub {
    /// Returns who could answer in a session now, and what the person allowed.
    pub(super) fn situation(&self, session: &Session) -> Situation {
        let settings = self.agent_settings();
        let chosen = settings.workspace_agents.get(session.cwd());
        Situation {
            candidates: self.runner().candidates(),
            allows_external: session.policy().allow_external_llms || settings.allow_external_llms,
            workspace_agent: chosen.and_then(|id| Target::of_mode(id)),
        }
    }
}

impl Runner {
    fn has_anybody(&self) -> bool {
        self.models.is_some() || self.agents.is_some() || self.foundation.is_some()
    }

    /// Returns the models and agents that a prompt or a task can be given to, available or not.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mention_is_not_told_to_the_agent_that_it_chooses() {
        let said =
            |text: &str, words: Option<&str>| Said { text: text.to_owned(), words: words.map(str::to_owned) };
        let text = |said: &Said, rest: &str| without_mention(said, rest).text;
        assert_eq!(text(&said("@codex fix it", None), "fix it"), "fix it");
        assert_eq!(
            text(&said("@codex fix it\n\nfn a() {}", Some("@codex fix it")), "fix it"),
            "fix it\n\nfn a() {}"
        );
        assert_eq!(text(&said("fix it", None), "fix it"), "fix it");
    }
}
