//! A turn that OpenAgents answers itself: in words of its own, or with what it finds and a model that is ready.

use super::{answering, hub::Hub, running::Runner, session::Session, turn::Said, unfinished::word};
use openagents_core::{
    CancellationToken,
    agent::{AgentLoop, PromptOutcome, PromptRequest, inline},
    find,
    model::{Availability, LanguageModel, ModelOptions},
    route::Topic,
    update::{Decision, Inline, RunState},
};
use std::{path::PathBuf, sync::Arc};

/// A prompt that OpenAgents answers itself.
#[derive(Debug)]
pub struct Reply {
    pub said: Said,
    /// The workspace.
    pub root: PathBuf,
    /// What is answered in words; `None` for a question.
    pub topic: Option<Topic>,
    /// Why it is answered here.
    pub decision: Decision,
}

/// Answers on this thread.
pub(super) fn reply(
    hub: &Arc<Hub>,
    reply: &Reply,
    session: &Arc<Session>,
    cancel: &CancellationToken,
) -> PromptOutcome {
    let (situation, runner) = (hub.situation(session), hub.runner());
    let emit = |event| answering::show(session, event);
    let words = reply.said.words();
    if reply.decision.inline == Some(Inline::Card) {
        let offered = situation.offered(Some(&reply.decision.target));
        let name = offered.first().map_or("an agent", |agent| agent.name.as_str());
        let text = format!("This is work for an agent. Pick {name} in the mode menu and send it again.");
        session.append(vec![word(&text)]);
        return PromptOutcome { state: RunState::Complete, text, usage: None, cut_off: false };
    }
    let transcript = answering::transcript(session, cancel);
    let find = || {
        let found = find::find_in(&reply.root, Some(runner.tools.history.clone()), words, cancel);
        found.map_err(|error| tracing::warn!(%error, "nothing was looked for")).ok()
    };
    let asks = reply.decision.inline == Some(Inline::Find);
    if let Some((model, options)) = runner.ready_model().filter(|_| asks) {
        let found = find().filter(|found| !found.findings.is_empty());
        if let Some(found) = &found {
            inline::show(&emit, found, words, false);
        }
        let agent = AgentLoop {
            session_tools: answering::session_tools(runner, hub, session, model.as_ref()),
            model,
            options,
            tools: runner.tools.clone(),
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
    let question = inline::Question {
        prompt: words,
        topic: reply.topic.as_ref(),
        decision: &reply.decision,
        situation: &situation,
        transcript: &transcript,
    };
    let loaded = runner.ready_model().map(|(model, _)| model).filter(|model| model.capabilities().loaded);
    inline::answer(&question, loaded.as_ref(), &find, &emit, cancel)
}

impl Runner {
    /// Returns a model on this machine that can answer, one in memory before one that has to be loaded.
    fn ready_model(&self) -> Option<(Arc<dyn LanguageModel>, ModelOptions)> {
        let local = self.models.as_ref().map(|models| (models.model(), models.snapshot().settings.options()));
        let foundation = self.foundation.iter().map(|model| (model.clone(), ModelOptions::default()));
        let models = local.into_iter().chain(foundation);
        let is_ready = |model: &Arc<dyn LanguageModel>| {
            model.capabilities().local && model.availability() == Availability::Ready
        };
        let ready = models.filter(|(model, _)| is_ready(model));
        ready.max_by_key(|(model, _)| model.capabilities().loaded)
    }
}
