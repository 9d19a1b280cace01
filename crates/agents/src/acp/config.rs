//! What is known of an agent before it is started.

use openagents_core::model::Availability;
use std::{collections::BTreeMap, fmt, path::PathBuf, sync::Arc, time::Duration};

/// What [`AcpAgent`](super::AcpAgent) needs.
#[derive(Clone)]
pub struct AcpAgentConfig {
    /// The mode and provider id: `codex`, `custom:<id>`.
    pub id: String,
    /// For people.
    pub name: String,
    /// Nothing that it is told leaves this machine.
    pub local: bool,
    /// What is started, as it is known at that moment; asked for each time a process is needed. `Err` with one sentence
    /// when it cannot be.
    pub command: Arc<dyn Fn() -> Result<AcpCommand, String> + Send + Sync>,
    /// Whether it would answer, as far as is known. Must not block.
    pub availability: Arc<dyn Fn() -> Availability + Send + Sync>,
    /// The command with which a person logs in: `codex login`.
    pub login: Option<String>,
    /// How long it is waited for.
    pub patience: Patience,
}

impl fmt::Debug for AcpAgentConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AcpAgentConfig")
            .field("id", &self.id)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// How an agent is started.
#[derive(Clone, PartialEq, Eq)]
pub struct AcpCommand {
    /// An absolute path.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// The environment of the person's login shell. Ours is not inherited, and `OPENAGENTS_*` is left out. Commands that the
    /// agent runs here get it too, without what looks like a secret.
    pub environment: BTreeMap<String, String>,
    /// What is added for the agent alone: its keys are not for what it runs.
    pub added: BTreeMap<String, String>,
    /// Where it is started; the workspace where it is absent.
    pub cwd: Option<PathBuf>,
}

/// The environment holds keys: it is never printed.
impl fmt::Debug for AcpCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AcpCommand")
            .field("program", &self.program)
            .field("args", &self.args)
            .field("cwd", &self.cwd)
            .finish_non_exhaustive()
    }
}

/// How long an agent is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// From its start until its session is open. 60 s.
    pub start: Duration,
    /// From a cancel until it has ended its turn; then it is stopped. 10 s.
    pub heed: Duration,
    /// Without a turn; then it is stopped, and started again for the next one. 10 min.
    pub idle: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { start: Duration::from_secs(60), heed: Duration::from_secs(10), idle: Duration::from_secs(600) }
    }
}
