//! Turns that OpenAgents answers itself: with a fixed reply, or with findings and a local model.

use super::{
    answer,
    context::{TurnContext, reader, show, transcript},
};
use crate::live::{Reply, Session, word};
use openagents_core::{
    CancellationToken,
    agent::PromptOutcome,
    update::{Inline, RunState},
};
use openagents_orchestration::agent::{AgentLoop, PromptRequest, inline};
use openagents_search::find;
use std::sync::Arc;

/// Runs a turn to its end on this thread.
pub(crate) fn reply(
    turns: &TurnContext,
    reply: &Reply,
    session: &Arc<Session>,
    cancel: &CancellationToken,
) -> PromptOutcome {
    let (situation, runner) = (turns.situation(session), &turns.runner);
    let emit = |event| show(session, event);
    let words = reply.said.words();
    if reply.decision.inline == Some(Inline::Card) {
        let offered = situation.offered(Some(&reply.decision.target));
        let name = offered.first().map_or("an agent", |agent| agent.name.as_str());
        let text = format!("This is work for an agent. Pick {name} in the mode menu and send it again.");
        session.append(vec![word(&text, RunState::Complete)]);
        return PromptOutcome { state: RunState::Complete, text, usage: None, cut_off: false };
    }
    let transcript = transcript(session, cancel);
    let find = || {
        let found = find::find_in(&reply.root, Some(turns.history_of(&reply.root)), words, cancel);
        found.map_err(|error| tracing::warn!(%error, "the search failed")).ok()
    };
    let asks = reply.decision.inline == Some(Inline::Find);
    if let Some((model, options)) = runner.ready_model().filter(|_| asks) {
        let found = find().filter(|found| !found.findings.is_empty());
        if let Some(found) = &found {
            inline::show(&emit, found, words, false);
        }
        let reader = reader(session, model.as_ref());
        let agent = AgentLoop {
            session_tools: answer::session_tools(turns, session, model.as_ref(), reader),
            model,
            options,
            tools: turns.tools(reader, &reply.root),
        };
        let request = PromptRequest {
            root: reply.root.clone(),
            text: reply.said.text.clone(),
            words: reply.said.words.clone(),
            transcript,
            findings: found,
            delegated: session.parent().is_some(),
        };
        return agent.prompt(&request, cancel, &emit);
    }
    if reply.only_findings
        && let Some(found) = find()
    {
        let text = inline::show(&emit, &found, words, true);
        return PromptOutcome { state: RunState::Complete, text, usage: None, cut_off: false };
    }
    let question = inline::InlineQuestion {
        prompt: words,
        topic: reply.topic.as_ref(),
        decision: &reply.decision,
        situation: &situation,
        transcript: &transcript,
    };
    let loaded = runner.ready_model().map(|(model, _)| model).filter(|model| model.capabilities().loaded);
    inline::answer(&question, loaded.as_ref(), &find, &emit, cancel)
}
