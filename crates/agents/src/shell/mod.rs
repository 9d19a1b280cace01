//! The environment of the person, in which agents are looked for and started. An app that was started from the Dock has
//! next to none of it.

mod environment;
mod login;
mod printed;

pub(crate) use environment::Environment;

use openagents_core::CancellationToken;
use std::{ffi::OsString, fs::File};

/// The PATH to look for agents in, whatever the person's shell says. For tests and for those who know better.
pub const PATH_VARIABLE: &str = "OPENAGENTS_AGENT_PATH";

/// Returns the person's environment where nobody has to be asked: a program that was started in a terminal has it.
pub(crate) fn known_environment() -> Option<Environment> {
    let own = Environment::of_this_process();
    if let Some(path) = own.get(PATH_VARIABLE).filter(|path| !path.is_empty()).map(OsString::from) {
        return Some(own.with_path(path));
    }
    // An interactive shell would also fight for the terminal, and be stopped.
    File::open("/dev/tty").is_ok().then_some(own)
}

/// Returns the variables of the person's login shell, added to our own. Blocks for 6 s at most: an app that was started
/// from the Dock has to ask the shell.
pub fn login_variables() -> Vec<(OsString, OsString)> {
    environment(&CancellationToken::new()).into_variables()
}

/// Returns the person's environment. Blocks for 6 s at most: where it is not known the login shell is asked, and what it
/// sets is added to our own.
pub(crate) fn environment(cancel: &CancellationToken) -> Environment {
    if let Some(known) = known_environment() {
        return known;
    }
    let own = Environment::of_this_process();
    match login::ask(&own, cancel) {
        Ok(login) => own.completed_by(login),
        Err(why) => own.with_note(format!(
            "Agents are looked for in the PATH of this program, as the login shell did not tell its own: {why}."
        )),
    }
}
