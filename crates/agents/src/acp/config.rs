//! An agent's configuration, known before it starts.

use crate::asking::AskingLevel;
use openagents_transcripts::{keep::Keeper, retention::Retention};
use std::{collections::BTreeMap, fmt, path::PathBuf, sync::Arc, time::Duration};

/// Configuration of an [`AcpAgent`](super::AcpAgent).
#[derive(Clone)]
pub struct AcpAgentConfig {
    /// The mode and provider id: `codex`, `custom:<id>`.
    pub id: String,
    pub name: String,
    /// Whether all data stays on this machine.
    pub local: bool,
    /// The command to start. Called whenever a process is needed.
    pub command: Arc<dyn Fn() -> AcpCommand + Send + Sync>,
    /// The clause that says how to log in: "run `codex login` in a terminal".
    pub login: Option<String>,
    /// How the agent is made to ask before it acts.
    pub asks: AskingLevel,
    /// Set if the agent deletes its own sessions some time after their last use.
    pub retention: Option<Retention>,
    /// The copies of sessions that it deletes.
    pub keeper: Option<Arc<Keeper>>,
    /// Whether to offer the agent file reads through us. It must survive an error.
    pub reads_files_here: bool,
    /// Whether the agent's sessions survive `session/load`.
    pub loads: bool,
    /// Our own MCP server; absent if this program cannot start it.
    pub own_tools: Option<OwnTools>,
    pub timeouts: AcpTimeouts,
}

/// How an agent starts `openagents mcp`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnTools {
    /// The program `openagents`: a name that is looked up in `PATH`, or an absolute path.
    pub program: PathBuf,
    /// The data folder.
    pub home: PathBuf,
}

impl AcpAgentConfig {
    /// Creates the configuration of an agent about which nothing else is known.
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
            keeper: None,
            reads_files_here: true,
            loads: true,
            own_tools: None,
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

#[derive(Clone, PartialEq, Eq)]
pub struct AcpCommand {
    /// Absolute path of the executable.
    pub program: PathBuf,
    /// Command-line arguments.
    pub args: Vec<String>,
    /// The environment of the login shell. Ours is not inherited, and `OPENAGENTS_*` is left out. Commands that the
    /// agent runs here get only the variables that programs and toolchains need.
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AcpTimeouts {
    /// From the start of the process until the session is open. Default 60 s.
    pub start: Duration,
    /// From a cancel until the agent ends its turn, after which it is stopped. Default 10 s.
    pub cancel: Duration,
    /// Time without a turn, after which the agent is stopped; the next turn restarts it. Default 10 min.
    pub idle: Duration,
    /// How long an agent may send nothing during a turn before clients show it. Default 20 s.
    pub silence: Duration,
}

impl Default for AcpTimeouts {
    fn default() -> Self {
        let secs = Duration::from_secs;
        Self { start: secs(60), cancel: secs(10), idle: secs(600), silence: secs(20) }
    }
}
