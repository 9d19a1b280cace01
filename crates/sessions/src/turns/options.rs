//! The options of the agents: their models, efforts and modes, as the user sets them.

use super::{context::TurnContext, executor::TurnExecutor};
use crate::{blocking::run_blocking, error::SessionError, live::Session};
use openagents_core::{
    text::prefix,
    update::{AgentPart, AgentState, OptionValue, SessionOption},
};
use std::{path::Path, sync::Arc};

/// An option to set, and its value.
#[derive(Debug, Clone)]
pub struct OptionChange {
    /// Id of the agent.
    pub agent: String,
    /// Id of the option.
    pub option: String,
    pub value: OptionValue,
    /// The agent may ask less afterwards: the user who sets it may approve.
    pub may_lower: bool,
}

impl TurnExecutor {
    /// Returns the options of an agent for a new session in a workspace: the last ones that it offered, with the values
    /// that the user chose last.
    pub async fn options(self: &Arc<Self>, agent: &str, cwd: &Path) -> Vec<SessionOption> {
        let (turns, agent, cwd) = (self.context(), agent.to_owned(), cwd.to_owned());
        run_blocking(move || expected(&turns, &agent, &cwd)).await.unwrap_or_default()
    }

    /// Returns the options of the agent that answers in a session, with the agent's id.
    pub async fn session_options(self: &Arc<Self>, session: &Arc<Session>) -> (String, Vec<SessionOption>) {
        let (turns, session, agent) = (self.context(), session.clone(), session.mode().to_string());
        let read = move || {
            let options = offered(&turns, &session, &agent);
            (agent, options)
        };
        run_blocking(read).await.unwrap_or_default()
    }

    /// Sets an option, now or, if the agent does not run, when it starts. Returns all options of the agent.
    pub async fn set_option(
        self: &Arc<Self>,
        session: &Arc<Session>,
        change: OptionChange,
    ) -> Result<Vec<SessionOption>, SessionError> {
        let (turns, session) = (self.context(), session.clone());
        run_blocking(move || set(&turns, &session, &change))
            .await
            .unwrap_or_else(|| Err(SessionError::internal("the option could not be set")))
    }
}

/// The options that an agent will probably offer in a new session. Blocks.
fn expected(turns: &TurnContext, agent: &str, cwd: &Path) -> Vec<SessionOption> {
    let store = turns.store();
    let read = store.agent_options(agent).and_then(|options| Ok((options, store.agent_choices(agent, cwd)?)));
    let (mut options, choices) = read.unwrap_or_else(|error| {
        tracing::warn!(%error, "could not read an agent's options");
        Default::default()
    });
    for option in &mut options {
        match choices.get(&option.id).filter(|value| option.offers(value)) {
            Some(value) => option.set(value),
            None => option.start_asking(),
        }
    }
    options
}

/// The options that an agent offers in a session, or is expected to offer there. Blocks.
fn offered(turns: &TurnContext, session: &Arc<Session>, agent: &str) -> Vec<SessionOption> {
    session.offered_options(agent).unwrap_or_else(|| expected(turns, agent, session.cwd()))
}

fn set(
    turns: &TurnContext,
    session: &Arc<Session>,
    change: &OptionChange,
) -> Result<Vec<SessionOption>, SessionError> {
    let OptionChange { agent, option: id, may_lower, .. } = change;
    let mut options = offered(turns, session, agent);
    let name = turns.runner.agent(agent).map_or_else(|| prefix(agent, 100).to_owned(), |agent| agent.name());
    let Some(option) = options.iter_mut().find(|option| option.id == *id) else {
        let id = prefix(id, 100);
        return Err(SessionError::invalid(format!("{name} has no option {id} in this session.")));
    };
    let value = &option.typed(change.value.clone());
    if !option.offers(value) {
        let known = &option.name;
        return Err(SessionError::invalid(format!("{name} does not offer that value for {known}.")));
    }
    if option.may_lower(value) && !may_lower {
        return Err(SessionError::Forbidden(format!(
            "{name} may ask less often after this. Set it on a device that may approve, or on this computer."
        )));
    }
    let remembered = option.is_remembered(value).then(|| !option.may_lower(value));
    let provider = turns.runner.agent(agent);
    let set_now = || {
        let set = provider.as_ref().map_or(Ok(None), |agent| agent.set_option(session.id(), id, value));
        set.map_err(|error| SessionError::Refused(format!("{error}.")))
    };
    let mut now = set_now()?;
    turns.store().keep_choice(session.id(), agent, session.cwd(), (id, value), remembered)?;
    if now.is_none() {
        // It may have read the stored choices just before this one.
        now = set_now()?;
    }
    if let Some(now) = now {
        return Ok(now);
    }
    option.set(value);
    let part = AgentPart::Options(options.clone());
    session.report(AgentState { agent: agent.clone(), part });
    Ok(options)
}
