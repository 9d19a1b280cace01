//! The agents of this machine.

use openagents_core::{
    agent::{AgentCommand, AgentProvider, Agents, AgentsError, AgentsSnapshot},
    history::History,
    model::SettingsStore,
};
use std::sync::Arc;

/// What [`LocalAgents`] needs.
#[derive(Debug, Clone)]
pub struct AgentsConfig {
    /// Where custom agents and choices are kept.
    pub settings: Arc<dyn SettingsStore>,
    /// For the tools of models that have no loop of their own.
    pub history: Arc<History>,
}

/// The agents of this machine.
#[derive(Debug)]
pub struct LocalAgents {
    _config: AgentsConfig,
}

impl LocalAgents {
    /// Reads the settings and begins to look for agents in the background.
    pub fn start(config: AgentsConfig) -> Arc<Self> {
        Arc::new(Self { _config: config })
    }
}

impl Agents for LocalAgents {
    fn providers(&self) -> Vec<Arc<dyn AgentProvider>> {
        Vec::new()
    }

    fn snapshot(&self) -> AgentsSnapshot {
        AgentsSnapshot::default()
    }

    fn watch(&self, _on_change: Arc<dyn Fn() + Send + Sync>) {}

    fn command(&self, _command: AgentCommand) -> Result<(), AgentsError> {
        Ok(())
    }

    fn shut_down(&self) {}
}
