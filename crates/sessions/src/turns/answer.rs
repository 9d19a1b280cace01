//! Turns in which a model or an agent answers a prompt.

use super::{
    context::{TurnContext, reader, show, transcript_for},
    delegate,
    host::Host,
    runner::Who,
    trust, unasked,
};
use crate::live::{Prompt, Said, Session, word};
use openagents_core::{
    CancellationToken,
    agent::{AgentRequest, Conversation, PromptOutcome},
    model::LanguageModel,
    update::RunState,
};
use openagents_orchestration::agent::{AgentLoop, Generate, PromptRequest, SessionTool};
use openagents_tools::reading::Reader;
use std::{path::Path, sync::Arc};

/// Runs a turn to its end on this thread.
pub(crate) fn answer(
    turns: &TurnContext,
    prompt: &Prompt,
    session: &Arc<Session>,
    cancel: &CancellationToken,
) -> PromptOutcome {
    let found = match &prompt.options.model {
        Some(named) => turns.runner.named(named),
        None => turns.runner.who(&prompt.provider),
    };
    let who = found.and_then(|who| match session.parent().is_some() {
        true => check_folder(&prompt.root).map(|()| who),
        false => Ok(who),
    });
    match who {
        Ok(Who::Model(model, options)) => {
            let reader = reader(session, model.as_ref());
            let agent = AgentLoop {
                session_tools: session_tools(turns, session, model.as_ref(), reader),
                model,
                options: prompt.options.over(options),
                tools: turns.tools(reader, &prompt.root),
            };
            let transcript = transcript_for(reader, &prompt.provider, session, cancel);
            let (root, Said { text, words, .. }) = (prompt.root.clone(), prompt.said.clone());
            let delegated = session.parent().is_some();
            let request = PromptRequest { root, text, words, transcript, findings: None, delegated };
            agent.prompt(&request, cancel, &|event| show(session, event))
        }
        Ok(Who::Agent(agent)) => {
            let may_start = unasked::check_words(session, agent.as_ref(), &prompt.said)
                .and_then(|()| trust::gate(turns, session, agent.as_ref(), prompt, cancel))
                .and_then(|()| unasked::gate(turns, session, agent.as_ref(), &prompt.root, cancel));
            if let Err(outcome) = may_start {
                return outcome;
            }
            let resume = turns.store().agent_session(session.id(), agent.id()).unwrap_or_else(|error| {
                tracing::warn!(%error, "could not read the agent's session id; the agent starts a new session");
                None
            });
            let request = AgentRequest {
                session_id: session.id().to_string(),
                root: prompt.root.clone(),
                text: prompt.said.text.clone(),
                // Agents that keep no history themselves have a model, whose loop runs above.
                transcript: Conversation::default(),
                resume,
                limits: session.limits().clone(),
                may_lower: prompt.said.may_lower,
            };
            let host = Host::new(turns, session, agent.id());
            Host::run(&host, || agent.prompt(&request, host.clone(), cancel))
        }
        Err(reason) => {
            let text = format!("❌ {reason}");
            session.append(vec![word(&text, RunState::Failed)]);
            PromptOutcome { state: RunState::Failed, text, usage: None, cut_off: false }
        }
    }
}

/// Checks a delegate's folder again: since the task was given, an agent may have replaced it with a link that leads out
/// of the workspace.
fn check_folder(root: &Path) -> Result<(), String> {
    match root.canonicalize() {
        Ok(now) if now == root => Ok(()),
        _ => Err(format!("{} was replaced after the task was given.", root.display())),
    }
}

/// Returns the tools that need a session, for a model that reads as `reader`.
pub(crate) fn session_tools(
    turns: &TurnContext,
    session: &Arc<Session>,
    model: &dyn LanguageModel,
    reader: Reader,
) -> Vec<Arc<dyn SessionTool>> {
    let generate = turns.runner.models.as_ref().map(|models| {
        let options = models.snapshot().settings.options();
        Arc::new(Generate { model: models.model(), options }) as Arc<dyn SessionTool>
    });
    let tools = generate.into_iter().chain(delegate::tools(turns, session, reader));
    tools.filter(|tool| tool.is_offered_to(model)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_folder_that_became_a_link_is_refused() {
        let keep = tempfile::tempdir().unwrap();
        let root = keep.path().canonicalize().unwrap().join("part");
        std::fs::create_dir(&root).unwrap();
        assert_eq!(check_folder(&root), Ok(()));
        std::fs::remove_dir(&root).unwrap();
        std::os::unix::fs::symlink("/", &root).unwrap();
        assert!(check_folder(&root).is_err());
        std::fs::remove_file(&root).unwrap();
        assert!(check_folder(&root).is_err());
    }
}
