//! A turn in which a model answers a prompt.

use super::session::Session;
use openagents_core::{
    CancellationToken,
    agent::{AgentEvent, AgentLoop, PromptOutcome, PromptRequest, Transcript},
    model::LocalModels,
    tool::Toolbox,
};
use std::{path::Path, sync::Arc};

/// Runs a turn of the local model to its end on this thread.
pub(super) fn answer(
    models: &dyn LocalModels,
    tools: &Toolbox,
    (root, text): (&Path, &str),
    session: &Arc<Session>,
    cancel: &CancellationToken,
) -> PromptOutcome {
    let transcript = session.transcript(cancel).unwrap_or_else(|error| {
        tracing::warn!(%error, "the model answers without what was said before");
        Transcript::default()
    });
    let agent = AgentLoop {
        model: models.model(),
        options: models.snapshot().settings.options(),
        tools: tools.clone(),
        session_tools: Vec::new(),
    };
    let request = PromptRequest { root: root.to_owned(), text: text.to_owned(), transcript };
    let emit = |event| match event {
        AgentEvent::Update(update) => session.append(vec![update]),
        AgentEvent::Activity(activity) => session.show(activity),
    };
    agent.prompt(&request, cancel, &emit)
}
