//! What answers the prompts of an agent, made of how it is reached.

use crate::{
    acp::{AcpAgent, AcpAgentConfig, AcpCommand, Patience},
    command_line::CommandLine,
    custom::model_agent,
    doctor::{Reach, Subject},
    shell::Environment,
};
use openagents_core::{
    agent::{AgentProvider, ModelAgent},
    model::Availability,
};
use std::sync::Arc;

/// What answers prompts.
#[derive(Debug, Clone)]
pub(super) enum Provider {
    /// A program that is hosted.
    Acp(Arc<AcpAgent>),
    /// A program that is run once for each prompt.
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

    /// Ends what runs, with its whole process group. Blocks for little more than 2 s at most.
    pub(super) fn shut_down(&self) {
        match self {
            Self::Acp(agent) => agent.shut_down(),
            Self::CommandLine(agent) => agent.shut_down(),
            Self::Model(_) => {}
        }
    }
}

/// Makes what answers prompts; starts nothing. Fails with a clause.
pub(super) fn provider(
    subject: &Subject,
    reach: &Reach,
    environment: &Arc<Environment>,
) -> Result<Provider, String> {
    match reach {
        Reach::Acp { program, args, env, cwd } => {
            let mut variables = environment.for_agents();
            variables.extend(env.clone());
            let command = AcpCommand {
                program: program.clone(),
                args: args.clone(),
                environment: variables,
                cwd: cwd.clone(),
            };
            Ok(Provider::Acp(Arc::new(AcpAgent::new(AcpAgentConfig {
                id: subject.id(),
                name: subject.name(),
                local: subject.is_local(),
                command: Arc::new(move || Ok(command.clone())),
                // Whether it can be reached was asked before it was made.
                availability: Arc::new(|| Availability::Ready),
                login: subject.log_in().map(str::to_owned),
                patience: Patience::default(),
            }))))
        }
        Reach::Model(agent) => Ok(Provider::Model(Arc::new(model_agent(agent, environment)?))),
        Reach::CommandLine { program } => {
            let (id, name) = (subject.id(), subject.name());
            let agent = CommandLine::new(id, name, program.clone(), environment.clone());
            Ok(Provider::CommandLine(Arc::new(agent)))
        }
    }
}
