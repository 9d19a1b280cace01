//! Configuration of an agent, known before it is started.

use crate::{asking::AskingLevel, retention::Retention};
use std::{collections::BTreeMap, fmt, path::PathBuf, sync::Arc, time::Duration};

/// Configuration of an [`AcpAgent`](super::AcpAgent).
#[derive(Clone)]
pub struct AcpAgentConfig {
    /// The mode and provider id: `codex`, `custom:<id>`.
    pub id: String,
    /// Display name.
    pub name: String,
    /// Whether all data stays on this machine.
    pub local: bool,
    /// The command to start. Called whenever a process is needed.
    pub command: Arc<dyn Fn() -> AcpCommand + Send + Sync>,
    /// The command to log in with, such as `codex login`.
    pub login: Option<String>,
    /// How it is made to ask before it acts.
    pub asks: AskingLevel,
    /// It deletes its own sessions some time after they were used.
    pub retention: Option<Retention>,
    /// Offers it to read files through us. It must survive an error.
    pub reads_files_here: bool,
    /// Its sessions survive `session/load`.
    pub loads: bool,
    /// Timeouts.
    pub timeouts: AcpTimeouts,
}

impl AcpAgentConfig {
    /// An agent of which nothing else is known.
    pub fn new(
        id: impl Into<String>,
        name: impl Into<String>,
        command: Arc<dyn Fn() -> AcpCommand + Send + Sync>,
    ) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            local: false,
            command,
            login: None,
            asks: AskingLevel::ItsOwn,
            retention: None,
            reads_files_here: true,
            loads: true,
            timeouts: AcpTimeouts::default(),
        }
    }
}

impl fmt::Debug for AcpAgentConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AcpAgentConfig")
            .field("id", &self.id)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// A command that starts an agent.
#[derive(Clone, PartialEq, Eq)]
pub struct AcpCommand {
    /// An absolute path.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// The environment of the login shell. Ours is not inherited, and `OPENAGENTS_*` is left out. Commands that the
    /// agent runs here get what programs and toolchains need of it.
    pub environment: BTreeMap<String, String>,
    /// Variables for the agent alone: the commands it runs must not see its keys.
    pub added: BTreeMap<String, String>,
    /// Working directory; the workspace if absent.
    pub cwd: Option<PathBuf>,
}

/// The environment holds keys and is never printed.
impl fmt::Debug for AcpCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AcpCommand")
            .field("program", &self.program)
            .field("args", &self.args)
            .field("cwd", &self.cwd)
            .finish_non_exhaustive()
    }
}

/// Timeouts of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AcpTimeouts {
    /// From the start of the process until the session is open. Default 60 s.
    pub start: Duration,
    /// From a cancel until the agent ends its turn; then it is stopped. Default 10 s.
    pub cancel: Duration,
    /// Without a turn; then the agent is stopped, and restarted for the next one. Default 10 min.
    pub idle: Duration,
}

impl Default for AcpTimeouts {
    fn default() -> Self {
        let secs = Duration::from_secs;
        Self { start: secs(60), cancel: secs(10), idle: secs(600) }
    }
}
