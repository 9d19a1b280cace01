//! Builds an agent's provider from its `Reach`.

use crate::{
    acp::{AcpAgent, AcpAgentConfig, AcpCommand},
    command_line::CommandLine,
    custom::model_agent,
    doctor::{Reach, Subject},
    shell::Environment,
};
use openagents_core::agent::{AgentProvider, CustomKind};
use parking_lot::Mutex;
use std::sync::Arc;

/// The latest environment. A running program keeps the one it was started with.
pub(super) type Newest = Arc<Mutex<Arc<Environment>>>;

/// Returns whether a provider can be kept: compares only the variables that matter, as many shells set some to a new
/// value each time.
pub(super) fn can_go_on(reach: &Reach, before: &Environment, now: &Environment) -> bool {
    match reach {
        Reach::Acp { .. } => before.path() == now.path(),
        // No process of it runs between two prompts.
        Reach::CommandLine { .. } => before == now,
        Reach::Model(agent) => match &agent.kind {
            CustomKind::Openai { key_variable: Some(name), .. } => before.get(name) == now.get(name),
            _ => true,
        },
    }
}

/// Creates the provider; starts nothing. Fails with a clause.
pub(super) fn provider(
    subject: &Subject,
    reach: &Reach,
    newest: &Newest,
) -> Result<Arc<dyn AgentProvider>, String> {
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
                AcpCommand { program, args, environment: environment.for_agents(), added, cwd }
            };
            let mut config = AcpAgentConfig::new(subject.id(), subject.name(), Arc::new(command));
            config.local = subject.is_local();
            if let Some(known) = known {
                config.login = Some(known.log_in.to_owned());
                (config.asks, config.retention) = (known.asks, known.retention);
                (config.reads_files_here, config.loads) = (known.reads_files_here, known.loads);
            }
            Ok(Arc::new(AcpAgent::new(config)))
        }
        Reach::Model(agent) => Ok(Arc::new(model_agent(agent, &environment())?)),
        Reach::CommandLine { program } => {
            let (id, name) = (subject.id(), subject.name());
            let retention = subject.known().and_then(|known| known.retention);
            Ok(Arc::new(CommandLine::new(id, name, program.clone(), environment(), retention)))
        }
    }
}
