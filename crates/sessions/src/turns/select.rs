//! Routes a prompt to a provider when the user leaves the choice to OpenAgents.

use super::context::TurnContext;
use crate::live::{Card, Choice, Prompt, Reply, Said, Session, Work};
use openagents_core::update::{Inline, SessionUpdate};
use openagents_orchestration::route::{Route, question, route};
use std::sync::Arc;

/// Routes a prompt, and records the decision in the session. Blocks.
pub(crate) fn select(turns: &TurnContext, choice: Choice, session: &Arc<Session>) -> Work {
    let Choice { said, exploration, shows_cards, options } = choice;
    if options.model.is_some() {
        return Work::Prompt(Prompt { provider: String::new(), root: exploration.root, said, options });
    }
    if options.question {
        let (decision, only_findings) = (question(), true);
        let root = exploration.root;
        return Work::Inline(Box::new(Reply { said, root, topic: None, decision, only_findings }));
    }
    if !turns.agent_settings().choose {
        return Work::Exploration(exploration);
    }
    let situation = turns.situation(session);
    // Attachments are not the user's words and do not affect routing.
    let Route { decision, topic, prompt } = route(said.words(), &situation);
    // Without models and agents there is nothing to choose, except for small talk.
    if !turns.runner.has_any() && topic.is_none() {
        return Work::Exploration(exploration);
    }
    session.append(vec![SessionUpdate::Routed(decision.clone())]);
    if let Err(error) = turns.store().record_decision(session.id(), said.words(), &decision) {
        tracing::warn!(%error, "could not store a routing decision");
    }
    let root = exploration.root;
    match (decision.inline, decision.target.mode()) {
        (Some(Inline::Card), _) if shows_cards => Work::Card(Box::new(Card { said, root, decision })),
        (None, Some(provider)) => {
            let said = without_mention(&said, prompt);
            Work::Prompt(Prompt { provider, root, said, options })
        }
        _ => Work::Inline(Box::new(Reply { said, root, topic, decision, only_findings: false })),
    }
}

/// Returns the prompt without its leading `@agent`; `rest` is the part of the user's words after it.
fn without_mention(said: &Said, rest: &str) -> Said {
    let words = said.words();
    match said.text.strip_prefix(words) {
        Some(attached) if rest != words => {
            let words = said.words.is_some().then(|| rest.to_owned());
            Said { text: format!("{rest}{attached}"), words, ..*said }
        }
        _ => said.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mention_is_removed_from_the_prompt() {
        let said = |text: &str, words: Option<&str>| Said {
            words: words.map(str::to_owned),
            ..Said::from(text.to_owned())
        };
        let text = |said: &Said, rest: &str| without_mention(said, rest).text;
        assert_eq!(text(&said("@codex fix it", None), "fix it"), "fix it");
        assert_eq!(
            text(&said("@codex fix it\n\nfn a() {}", Some("@codex fix it")), "fix it"),
            "fix it\n\nfn a() {}"
        );
        assert_eq!(text(&said("fix it", None), "fix it"), "fix it");
    }
}
