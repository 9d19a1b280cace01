//! The agents of this machine, for sessions and for settings.
//!
//! [`table`] holds the state, [`commands`] handles the user's changes and checks agents in the background, [`install`]
//! installs them, and [`listed`] is an agent as seen by a session.

mod commands;
mod install;
#[cfg(test)]
mod install_tests;
mod installations;
mod listed;
mod table;
#[cfg(test)]
mod tests;

pub use crate::local::table::AgentsConfig;
use crate::{
    local::table::Inner,
    openai::{Endpoint, OpenAi},
    packages::Packages,
    shell::{self, Found},
};
use listed::Listed;
use openagents_core::{
    CancellationToken,
    agent::{AgentCommand, AgentProvider, Agents, AgentsError, AgentsSnapshot, LoginTerminal},
    model::LanguageModel,
};
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use table::{Depth, Provided, Table};

/// The agents of this machine. Clones share the same state.
#[derive(Debug, Clone)]
pub struct LocalAgents {
    inner: Arc<Inner>,
}

impl LocalAgents {
    /// Reads the settings and starts searching for agents in the background.
    pub fn start(config: AgentsConfig) -> Arc<Self> {
        let agents = Self::new(config, shell::environment);
        if let Some(environment) = shell::known_environment() {
            agents.inner.mark_missing(&Arc::new(environment));
        }
        agents.inner.check_all(Depth::Version);
        Arc::new(agents)
    }

    fn new(config: AgentsConfig, environment: fn(&CancellationToken) -> Found) -> Self {
        let packages = Packages::new(config.packages.clone());
        let table = Table::new(
            &packages,
            Provided { own_tools: config.own_tools.clone(), keeper: config.keeper.clone() },
        );
        let inner = Inner {
            config,
            packages,
            environment,
            table: Mutex::new(table),
            changed: Condvar::new(),
            saving: Mutex::default(),
            logging_in: Mutex::default(),
            watchers: Mutex::default(),
            closing: CancellationToken::new(),
        };
        inner.reload();
        Self { inner: Arc::new(inner) }
    }
}

impl Agents for LocalAgents {
    fn providers(&self) -> Vec<Arc<dyn AgentProvider>> {
        let table = self.inner.table.lock();
        let offered = table.entries().iter().filter(|entry| entry.is_offered());
        offered.map(|entry| Listed::new(&self.inner, &entry.subject) as Arc<dyn AgentProvider>).collect()
    }

    /// Also finds agents that are not offered: a session may use one that was removed or not checked yet.
    fn provider(&self, id: &str) -> Option<Arc<dyn AgentProvider>> {
        let table = self.inner.table.lock();
        Some(Listed::new(&self.inner, &table.entry(id)?.subject) as Arc<dyn AgentProvider>)
    }

    fn open_server(
        &self,
        name: &str,
        base_url: Option<&str>,
        key_variable: Option<&str>,
    ) -> Result<Arc<dyn LanguageModel>, String> {
        let model = OpenAi::new(Endpoint::named(name, base_url, key_variable));
        model.map(|model| Arc::new(model) as Arc<dyn LanguageModel>).map_err(|error| error.to_string())
    }

    fn snapshot(&self) -> AgentsSnapshot {
        self.inner.table.lock().snapshot()
    }

    fn watch(&self, on_change: Arc<dyn Fn() + Send + Sync>) {
        self.inner.watchers.lock().push(on_change);
    }

    fn command(&self, command: AgentCommand) -> Result<(), AgentsError> {
        self.inner.command(command)
    }

    fn login(&self, id: &str) -> Option<Arc<dyn LoginTerminal>> {
        self.inner.login(id).map(|login| login as Arc<dyn LoginTerminal>)
    }

    fn shut_down(&self) {
        self.inner.shut_down();
    }
}
