//! The processes of a session: its agent's own, and what these have started.

use crate::state::Millis;
use openagents_transcripts::history::Provider;

/// Programs that agents start for themselves: they say nothing about a call.
const OWN_HELPERS: [&str; 5] = ["git", "node", "MainThread", "codex", "tmux: client"];

/// A process of an agent itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner {
    pub started: Millis,
    pub is_alive: bool,
    pub is_suspended: bool,
    pub terminal: Terminal,
}

/// The terminal of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Terminal {
    Open,
    Closed,
    /// It never had one: another program runs it.
    None,
}

/// The processes of one session, as last seen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Processes {
    /// Also those that have ended.
    pub owners: Vec<Owner>,
    /// When each running process was started that the agent has started for a call.
    pub children: Vec<Millis>,
}

impl Processes {
    /// Milliseconds by which a child may seem older than the record of its call: logs are polled, and other systems know
    /// the start of a process by the second.
    const EARLY: Millis = if cfg!(target_os = "linux") { 300 } else { 1_300 };

    pub(crate) fn alive(&self) -> impl Iterator<Item = &Owner> {
        self.owners.iter().filter(|owner| owner.is_alive)
    }

    /// Whether something that was started since a moment still runs.
    pub(crate) fn child_since(&self, at: Millis) -> bool {
        self.children.iter().any(|started| *started >= at - Self::EARLY)
    }
}

/// What a process is for the agent whose session it belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// A process of the agent itself.
    Agent,
    /// A background service, which has no terminal on purpose.
    Service,
    /// Started for a call.
    Child,
    /// Started by the agent for itself.
    Helper,
}

/// Returns the role of a process of an agent by its name, as the system has it, and its command line.
pub fn role(agent: Provider, name: &str, command: &str) -> Role {
    let is_agent = match agent {
        Provider::ClaudeCode => name == "claude",
        Provider::Codex => name == "codex",
        Provider::Opencode => name == "opencode",
        // Node names its main thread, not the program.
        _ => matches!(name, "MainThread" | "node"),
    };
    match is_agent {
        true if command.contains("app-server") => Role::Service,
        true => Role::Agent,
        false if OWN_HELPERS.contains(&name) => Role::Helper,
        false => Role::Child,
    }
}
