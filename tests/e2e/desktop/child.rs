//! A program that is stopped together with everything it started.

use std::{
    os::unix::process::CommandExt as _,
    process::{ChildStdout, Command},
};

/// A running program in a separate process group. Dropping it kills the group.
#[derive(Debug)]
pub(crate) struct Child {
    inner: std::process::Child,
}

impl Child {
    pub(crate) fn spawn(command: &mut Command) -> std::io::Result<Self> {
        Ok(Self { inner: command.process_group(0).spawn()? })
    }

    pub(crate) fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.inner.stdout.take()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // Killing only the driver would leave its browser behind.
        let group = format!("-{}", self.inner.id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
        let _ = self.inner.wait();
    }
}
