//! A turn that OpenAgents answers itself: in words of its own, or with what it finds and a model that is ready.

use super::{answering, hub::Hub, session::Session, turn::Reply};
use openagents_core::{
    CancellationToken,
    agent::{PromptOutcome, inline},
    find,
};
use std::sync::Arc;

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
    let history = hub.runner().tools.history.clone();
    let find = || {
        let found = find::find_in(&reply.root, Some(history.clone()), &reply.text, cancel);
        found.map_err(|error| tracing::warn!(%error, "nothing was looked for")).ok()
    };
    let emit = |event| answering::show(session, event);
    inline::answer(&question, hub.runner().at_hand().as_ref(), &find, &emit, cancel)
}
