//! A turn in which a model or an agent answers a prompt.

use super::{
    delegating,
    hosting::Host,
    hub::Hub,
    running::Runner,
    session::Session,
    turn::{Prompt, Said},
    unfinished::word,
};
use openagents_core::{
    CancellationToken,
    agent::{
        AgentEvent, AgentLoop, AgentProvider, AgentRequest, Agents, Generate, PromptOutcome, PromptRequest,
        SessionTool, Transcript,
    },
    agent_ids::{CLAUDE_CODE, CODEX, CUSTOM_PREFIX, LOCAL_FM, LOCAL_MODEL},
    model::{Availability, LanguageModel, ModelOptions},
    update::RunState,
};
use std::{path::Path, sync::Arc};

/// Who answers.
enum Who {
    /// Our own loop around a model.
    Model(Arc<dyn LanguageModel>, ModelOptions),
    /// An agent with a loop of its own.
    Agent(Arc<dyn AgentProvider>),
}

/// Runs a turn to its end on this thread.
pub(super) fn answer(
    runner: &Runner,
    hub: &Arc<Hub>,
    prompt: &Prompt,
    session: &Arc<Session>,
    cancel: &CancellationToken,
) -> PromptOutcome {
    let who = runner.who(&prompt.provider).and_then(|who| match session.parent().is_some() {
        true => still_there(&prompt.root).map(|()| who),
        false => Ok(who),
    });
    match who {
        Ok(Who::Model(model, options)) => {
            let agent = AgentLoop {
                session_tools: session_tools(runner, hub, session, model.as_ref()),
                model,
                options,
                tools: runner.tools.clone(),
            };
            let transcript = transcript(session, cancel);
            let (root, Said { text, words }) = (prompt.root.clone(), prompt.said.clone());
            let delegated = session.parent().is_some();
            let request = PromptRequest { root, text, words, transcript, findings: None, delegated };
            agent.prompt(&request, cancel, &|event| show(session, event))
        }
        Ok(Who::Agent(agent)) => {
            let resume = hub.store().agent_session(session.id(), agent.id()).unwrap_or_else(|error| {
                tracing::warn!(%error, "an agent begins anew");
                None
            });
            let request = AgentRequest {
                session_id: session.id().to_string(),
                root: prompt.root.clone(),
                text: prompt.said.text.clone(),
                transcript: transcript(session, cancel),
                resume,
                limits: session.limits().clone(),
            };
            let host = Host::new(hub, session, agent.id());
            Host::run(&host, || agent.prompt(&request, host.clone(), cancel))
        }
        Err(reason) => {
            let text = format!("❌ {reason}");
            session.append(vec![word(&text)]);
            PromptOutcome { state: RunState::Failed, text, usage: None, cut_off: false }
        }
    }
}

/// The folder of a delegate was checked when the task was given: an agent that worked in between may have put a link in its
/// place, which leads out of the workspace.
fn still_there(root: &Path) -> Result<(), String> {
    match root.canonicalize() {
        Ok(now) if now == root => Ok(()),
        _ => Err(format!("{} is not the folder any more that the task was given for.", root.display())),
    }
}

/// Takes what belongs into a session.
pub(super) fn show(session: &Arc<Session>, event: AgentEvent) {
    match event {
        AgentEvent::Update(update) => session.append(vec![update]),
        AgentEvent::Activity(activity) => session.show(activity),
    }
}

/// Returns what was said so far.
pub(super) fn transcript(session: &Session, cancel: &CancellationToken) -> Transcript {
    session.transcript(cancel).unwrap_or_else(|error| {
        tracing::warn!(%error, "who answers does not know what was said before");
        Transcript::default()
    })
}

/// Returns the tools that only a session can offer.
pub(super) fn session_tools(
    runner: &Runner,
    hub: &Arc<Hub>,
    session: &Arc<Session>,
    model: &dyn LanguageModel,
) -> Vec<Arc<dyn SessionTool>> {
    let generate = runner.models.as_ref().map(|models| {
        let options = models.snapshot().settings.options();
        Arc::new(Generate { model: models.model(), options }) as Arc<dyn SessionTool>
    });
    let tools = generate.into_iter().chain(delegating::tools(hub, session));
    tools.filter(|tool| tool.is_offered_to(model)).collect()
}

impl Runner {
    /// Returns whether a mode is somebody's here; one that is not explores.
    pub(super) fn serves(&self, mode: &str) -> bool {
        let is_an_agents = || mode == CODEX || mode == CLAUDE_CODE || mode.starts_with(CUSTOM_PREFIX);
        match mode {
            LOCAL_MODEL => self.models.is_some(),
            mode => {
                self.agents.as_ref().is_some_and(|agents| is_an_agents() || agents.provider(mode).is_some())
            }
        }
    }

    /// Finds who answers, or says why nobody does.
    fn who(&self, provider: &str) -> Result<Who, String> {
        match provider {
            LOCAL_MODEL => match &self.models {
                Some(models) => Ok(Who::Model(models.model(), models.snapshot().settings.options())),
                None => Err("no local model runs here; choose another mode".to_owned()),
            },
            LOCAL_FM => match &self.foundation {
                Some(model) => Ok(Who::Model(model.clone(), ModelOptions::default())),
                None => Err("Foundation Models are not on this computer. Choose another agent.".to_owned()),
            },
            id => {
                let agents = self.agents.as_deref();
                let agent = agents.and_then(|agents| agents.provider(id)).ok_or_else(|| {
                    let id = crate::prune::head(id, 100);
                    format!("There is no agent {id} here. Choose another one.")
                })?;
                if let Availability::Unavailable(reason) = agent.availability() {
                    return Err(unavailable(agents, id, &reason));
                }
                Ok(match agent.model() {
                    Some(model) => Who::Model(model, ModelOptions::default()),
                    None => Who::Agent(agent),
                })
            }
        }
    }
}

/// Says why an agent does not answer, and what to do about it.
fn unavailable(agents: Option<&dyn Agents>, id: &str, reason: &str) -> String {
    let card = agents.and_then(|agents| agents.snapshot().agents.into_iter().find(|card| card.id == id));
    let remedy = card.and_then(|card| card.remedy).filter(|remedy| !reason.contains(remedy.as_str()));
    let sentence = |text: &str| format!("{}.", text.trim().trim_end_matches('.'));
    match remedy {
        Some(remedy) => format!("{} {}", sentence(reason), sentence(&remedy)),
        None => sentence(reason),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_folder_that_became_a_link_is_not_the_folder_of_the_task() {
        let keep = tempfile::tempdir().unwrap();
        let root = keep.path().canonicalize().unwrap().join("part");
        std::fs::create_dir(&root).unwrap();
        assert_eq!(still_there(&root), Ok(()));
        std::fs::remove_dir(&root).unwrap();
        std::os::unix::fs::symlink("/", &root).unwrap();
        assert!(still_there(&root).is_err());
        std::fs::remove_file(&root).unwrap();
        assert!(still_there(&root).is_err());
    }
}
