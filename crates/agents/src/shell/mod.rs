//! The user's environment, in which agents are found and started. An app started from the Dock has almost none of it.

mod environment;
mod login;

pub(crate) use environment::Environment;

use openagents_core::{CancellationToken, agent::ShellProblem};
use std::{ffi::OsString, fs::File};

/// Overrides the PATH in which agents are searched. For tests and experts.
pub const PATH_VARIABLE: &str = "OPENAGENTS_AGENT_PATH";

/// Returns the user's environment if the shell need not be asked: a program started in a terminal has it.
pub(crate) fn known_environment() -> Option<Environment> {
    let own = Environment::of_this_process();
    if let Some(path) = own.get(PATH_VARIABLE).filter(|path| !path.is_empty()).map(OsString::from) {
        return Some(own.with_path(path));
    }
    // An interactive shell would also compete for the terminal and be stopped.
    File::open("/dev/tty").is_ok().then_some(own)
}

#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) environment: Environment,
    /// Why the variables of the login shell are missing.
    pub(crate) problem: Option<ShellProblem>,
}

impl From<Environment> for Found {
    fn from(environment: Environment) -> Self {
        Self { environment, problem: None }
    }
}

/// Returns our variables completed with those of the login shell. Blocks for 6 s at most, if the shell has to run.
pub fn login_variables() -> Vec<(OsString, OsString)> {
    environment(&CancellationToken::new()).environment.into_variables()
}

/// Returns the user's environment: ours, completed with the login shell's if needed. Blocks for 6 s at most.
pub(crate) fn environment(cancel: &CancellationToken) -> Found {
    if let Some(known) = known_environment() {
        return known.into();
    }
    let own = Environment::of_this_process();
    match login::read_environment(&own, cancel) {
        Ok(login) => own.completed_by(login).into(),
        Err(trouble) => {
            tracing::warn!("agents are searched in the PATH of this program alone: {trouble}");
            Found { environment: own, problem: Some(trouble.problem()) }
        }
    }
}
