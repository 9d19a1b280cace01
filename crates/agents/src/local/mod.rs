//! The agents of this machine, for sessions and for settings.
//!
//! [`table`] holds the state, `checks` updates it in the background, `commands` handles changes by a person, `listed`
//! is an agent as seen by a session.

mod checks;
mod commands;
mod listed;
mod reach;
mod table;
#[cfg(test)]
mod tests;

use crate::{
    openai::{Endpoint, OpenAi},
    shell::{self, Environment},
};
use checks::Depth;
use listed::Listed;
use openagents_core::{
    CancellationToken,
    agent::{AgentCommand, AgentProvider, Agents, AgentsError, AgentsSnapshot},
    history::History,
    model::{LanguageModel, SettingsStore},
};
use std::{
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use table::Table;

/// Time to wait for a running check on shutdown.
const END: Duration = Duration::from_secs(2);

/// Configuration of [`LocalAgents`].
#[derive(Debug, Clone)]
pub struct AgentsConfig {
    /// Storage of custom agents and choices.
    pub settings: Arc<dyn SettingsStore>,
    /// For the tools of models without an agent loop of their own.
    pub history: Arc<History>,
}

/// The agents of this machine. Clones share the same state.
#[derive(Debug, Clone)]
pub struct LocalAgents {
    inner: Arc<Inner>,
}

struct Inner {
    config: AgentsConfig,
    /// Returns the person's environment.
    environment: fn(&CancellationToken) -> Environment,
    table: Mutex<Table>,
    /// Notified when the table has changed.
    changed: Condvar,
    /// Held while settings are changed.
    saving: Mutex<()>,
    watchers: Mutex<Vec<Arc<dyn Fn() + Send + Sync>>>,
    /// Cancels checks.
    closing: CancellationToken,
}

impl LocalAgents {
    /// Reads the settings and starts to look for agents in the background.
    pub fn start(config: AgentsConfig) -> Arc<Self> {
        let agents = Self::new(config, shell::environment);
        if let Some(environment) = shell::known_environment() {
            agents.inner.look_at_once(&Arc::new(environment));
        }
        agents.inner.check_all(Depth::Version);
        Arc::new(agents)
    }

    fn new(config: AgentsConfig, environment: fn(&CancellationToken) -> Environment) -> Self {
        let inner = Inner {
            config,
            environment,
            table: Mutex::default(),
            changed: Condvar::new(),
            saving: Mutex::default(),
            watchers: Mutex::default(),
            closing: CancellationToken::new(),
        };
        inner.reread();
        Self { inner: Arc::new(inner) }
    }
}

impl Agents for LocalAgents {
    fn providers(&self) -> Vec<Arc<dyn AgentProvider>> {
        let table = self.inner.table();
        let offered = table.entries().iter().filter(|entry| entry.is_offered());
        offered.map(|entry| Listed::new(&self.inner, &entry.subject) as Arc<dyn AgentProvider>).collect()
    }

    /// Also finds agents that are not offered: a session may use one that was removed or not checked yet.
    fn provider(&self, id: &str) -> Option<Arc<dyn AgentProvider>> {
        let table = self.inner.table();
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
        self.inner.table().snapshot()
    }

    fn watch(&self, on_change: Arc<dyn Fn() + Send + Sync>) {
        lock(&self.inner.watchers).push(on_change);
    }

    fn command(&self, command: AgentCommand) -> Result<(), AgentsError> {
        self.inner.command(command)
    }

    fn shut_down(&self) {
        self.inner.shut_down();
    }
}

impl Inner {
    fn table(&self) -> MutexGuard<'_, Table> {
        lock(&self.table)
    }

    /// Changes the table and notifies observers.
    fn change<T>(&self, change: impl FnOnce(&mut Table) -> T) -> T {
        let result = change(&mut self.table());
        self.drop_idle();
        self.changed.notify_all();
        let watchers = lock(&self.watchers).clone();
        watchers.iter().for_each(|on_change| on_change());
        result
    }

    /// Shuts down replaced providers without a running turn. Not under the lock, since it takes a moment.
    fn drop_idle(&self) {
        let idle = self.table().take_idle();
        drop(idle);
    }

    /// Stops all of them in parallel, 2 s each. Checks are stopped too, so that their programs don't keep running.
    fn shut_down(&self) {
        self.closing.cancel();
        let running = self.table().take_running();
        std::thread::scope(|scope| {
            for agent in &running {
                scope.spawn(|| agent.shut_down());
            }
        });
        let waited = self.changed.wait_timeout_while(self.table(), END, |table| table.checking);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("LocalAgents").field("config", &self.config).finish_non_exhaustive()
    }
}

/// A panic elsewhere leaves consistent values: they are only changed by assignment.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
