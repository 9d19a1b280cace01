//! A turn that OpenAgents answers itself: in words of its own, or with what it finds and a model that is ready.

use super::{answering, hub::Hub, session::Session};
use openagents_core::{
    CancellationToken,
    agent::{AgentLoop, PromptOutcome, PromptRequest, inline},
    find,
    model::ModelOptions,
    routing::Topic,
    update::Decision,
};
use std::{path::PathBuf, sync::Arc};

/// A prompt that OpenAgents answers itself.
#[derive(Debug)]
pub(crate) struct Reply {
    /// As the person typed it.
    pub(crate) text: String,
    /// The workspace.
    pub(crate) root: PathBuf,
    /// What the person wants to hear, where it is talk.
    pub(crate) topic: Option<Topic>,
    /// Why it is answered here.
    pub(crate) decision: Decision,
}

/// Answers on this thread.
pub(super) fn reply(
    hub: &Arc<Hub>,
    reply: &Reply,
    session: &Arc<Session>,
    cancel: &CancellationToken,
) -> PromptOutcome {
    let situation = hub.situation(session);
    let transcript = answering::transcript(session, cancel);
    let question = inline::Question {
        prompt: &reply.text,
        topic: reply.topic.as_ref(),
        decision: &reply.decision,
        situation: &situation,
        transcript: &transcript,
    };
    let runner = hub.runner();
    let find = || {
        let found = find::find_in(&reply.root, Some(runner.tools.history.clone()), &reply.text, cancel);
        found.map_err(|error| tracing::warn!(%error, "nothing was looked for")).ok()
    };
    let emit = |event| answering::show(session, event);
    let ready = runner.at_hand();
    let is_question = reply.topic == Some(Topic::Explanation);
    if let Some(model) = ready.as_ref().filter(|_| is_question)
        && let Some(found) = find().filter(|found| !found.findings.is_empty())
    {
        inline::show(&emit, &found, &reply.text);
        let agent = AgentLoop {
            model: Arc::clone(model),
            options: ModelOptions::default(),
            tools: runner.tools.clone(),
            session_tools: Vec::new(),
        };
        let request = PromptRequest {
            root: reply.root.clone(),
            text: reply.text.clone(),
            words: None,
            transcript,
            findings: Some(found),
            delegated: session.parent().is_some(),
        };
        return agent.prompt(&request, cancel, &emit);
    }
    inline::answer(&question, ready.as_ref(), &find, &emit, cancel)
}
