//! The helper program.

use crate::{
    limits::HELPER,
    protocol::{Command, Report},
};
use openagents_core::{helper::HelperClient, model::ModelError};
use std::{
    io::{Read, Write},
    path::Path,
};

/// A running helper.
pub type Client = HelperClient<Command, Report>;

/// Connects to a helper at the other end of these streams.
pub fn over(
    output: impl Read + Send + 'static,
    input: impl Write + Send + 'static,
) -> Result<Client, ModelError> {
    Client::over("for Foundation Models", HELPER, (output, input))
}

/// Starts the program.
pub(super) fn start(program: &Path) -> Result<Client, ModelError> {
    Client::start(std::process::Command::new(program), HELPER, || ())
}
