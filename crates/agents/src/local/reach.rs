//! The provider of an agent, built from its `Reach`.

use crate::{
    acp::{AcpAgent, AcpAgentConfig, AcpCommand, AcpTimeouts},
    command_line::CommandLine,
    custom::model_agent,
    doctor::{Reach, Subject},
    shell::Environment,
};
use openagents_core::{
    agent::{AgentProvider, CustomKind, ModelAgent},
    model::Availability,
};
use parking_lot::Mutex;
use std::sync::Arc;

/// The provider of an agent.
#[derive(Debug, Clone)]
pub(super) enum Provider {
    /// A program that speaks ACP.
    Acp(Arc<AcpAgent>),
    /// A program that is run once per prompt.
    CommandLine(Arc<CommandLine>),
    /// A model behind an address.
    Model(Arc<ModelAgent>),
}

impl Provider {
    pub(super) fn shared(self) -> Arc<dyn AgentProvider> {
        match self {
            Self::Acp(agent) => agent,
            Self::CommandLine(agent) => agent,
            Self::Model(agent) => agent,
        }
    }

    /// Returns whether no turn holds it.
    pub(super) fn is_idle(&self) -> bool {
        match self {
            Self::Acp(agent) => Arc::strong_count(agent) == 1,
            Self::CommandLine(agent) => Arc::strong_count(agent) == 1,
            Self::Model(agent) => Arc::strong_count(agent) == 1,
        }
    }

    /// Stops running processes with their groups. Blocks for little more than 2 s.
    pub(super) fn shut_down(&self) {
        match self {
            Self::Acp(agent) => agent.shut_down(),
            Self::CommandLine(agent) => agent.shut_down(),
            Self::Model(_) => {}
        }
    }
}

/// The latest environment. A running program keeps the one it was started with.
pub(super) type Newest = Arc<Mutex<Arc<Environment>>>;

/// Returns whether a provider can be kept when the environment changes. Compares only the variables that matter: many
/// shells set some variable anew each time.
pub(super) fn can_go_on(reach: &Reach, before: &Environment, now: &Environment) -> bool {
    match reach {
        Reach::Acp { .. } => before.path() == now.path(),
        // Nothing of it runs between two prompts.
        Reach::CommandLine { .. } => before == now,
        Reach::Model(agent) => match &agent.kind {
            CustomKind::Openai { key_variable: Some(name), .. } => before.get(name) == now.get(name),
            _ => true,
        },
    }
}

/// Creates the provider; starts nothing. Fails with a clause.
pub(super) fn provider(subject: &Subject, reach: &Reach, newest: &Newest) -> Result<Provider, String> {
    let environment = || newest.lock().clone();
    match reach {
        Reach::Acp { program, args, env, cwd } => {
            let (program, args, env, cwd) = (program.clone(), args.clone(), env.clone(), cwd.clone());
            let (newest, known) = (newest.clone(), subject.known());
            let command = move || {
                let environment = newest.lock().clone();
                let mut added = env.clone();
                added.extend(
                    known.iter().flat_map(|known| known.added(|name| environment.get(name).is_some())),
                );
                let (program, args, cwd) = (program.clone(), args.clone(), cwd.clone());
                Ok(AcpCommand { program, args, environment: environment.for_agents(), added, cwd })
            };
            Ok(Provider::Acp(Arc::new(AcpAgent::new(AcpAgentConfig {
                id: subject.id(),
                name: subject.name(),
                local: subject.is_local(),
                command: Arc::new(command),
                // Availability was checked before this was created.
                availability: Arc::new(|| Availability::Ready),
                login: subject.log_in().map(str::to_owned),
                timeouts: AcpTimeouts::default(),
            }))))
        }
        Reach::Model(agent) => Ok(Provider::Model(Arc::new(model_agent(agent, &environment())?))),
        Reach::CommandLine { program } => {
            let (id, name) = (subject.id(), subject.name());
            let agent = CommandLine::new(id, name, program.clone(), environment());
            Ok(Provider::CommandLine(Arc::new(agent)))
        }
    }
}
