//! A virtual display.

use super::child::Child;
use anyhow::{Context as _, bail};
use std::{
    io::{BufRead as _, BufReader},
    process::{Command, Stdio},
};

/// A running X server. Dropping it stops the server.
#[derive(Debug)]
pub(crate) struct Display {
    name: String,
    _server: Child,
}

impl Display {
    /// Starts an X server, which picks a free number and prints it once it is ready.
    pub(crate) fn start() -> anyhow::Result<Self> {
        let mut command = Command::new("Xvfb");
        command
            .args(["-displayfd", "1", "-screen", "0", "1280x820x24", "-nolisten", "tcp"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut server = Child::spawn(&mut command)
            .context("Xvfb does not start; scripts/install.sh tests installs it")?;
        let mut number = String::new();
        BufReader::new(server.take_stdout().context("Xvfb has an output")?).read_line(&mut number)?;
        if number.trim().is_empty() {
            bail!("Xvfb ended before it was ready");
        }
        Ok(Self { name: format!(":{}", number.trim()), _server: server })
    }

    /// Returns the value for `DISPLAY`.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}
