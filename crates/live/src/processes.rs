//! The processes of a session: its agent's own, and what these have started.

use crate::state::Millis;

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
    /// When each running process was started that the agent has started.
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
