//! The state that all clones of [`LocalAgents`](super::LocalAgents) share.

use super::table::Table;
use crate::{limits::SHUTDOWN, shell::Found};
use openagents_core::{CancellationToken, model::SettingsStore};
use openagents_transcripts::history::History;
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;

/// Configuration of [`LocalAgents`].
#[derive(Debug, Clone)]
pub struct AgentsConfig {
    /// Storage of custom agents and choices.
    pub settings: Arc<dyn SettingsStore>,
    /// For the tools of models, which have no agent loop.
    pub history: Arc<History>,
}

pub(super) struct Inner {
    pub(super) config: AgentsConfig,
    pub(super) environment: fn(&CancellationToken) -> Found,
    pub(super) table: Mutex<Table>,
    /// Notified when the table changes.
    pub(super) changed: Condvar,
    /// Held while settings are changed.
    pub(super) saving: Mutex<()>,
    pub(super) watchers: Mutex<Vec<Arc<dyn Fn() + Send + Sync>>>,
    pub(super) closing: CancellationToken,
}

impl Inner {
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut Table) -> T) -> T {
        let result = change(&mut self.table.lock());
        self.drop_idle();
        self.changed.notify_all();
        let watchers = self.watchers.lock().clone();
        watchers.iter().for_each(|on_change| on_change());
        result
    }

    /// Shuts down replaced providers without a running turn. Done outside the lock, since it takes a moment.
    pub(super) fn drop_idle(&self) {
        let idle = self.table.lock().take_idle();
        drop(idle);
    }

    /// Stops all agents in parallel, 2 s each. Checks are stopped too, so that their programs don't keep running.
    pub(super) fn shut_down(&self) {
        self.closing.cancel();
        let running = self.table.lock().take_running();
        std::thread::scope(|scope| {
            for agent in &running {
                scope.spawn(|| agent.shut_down());
            }
        });
        self.changed.wait_while_for(&mut self.table.lock(), |table| table.checking, SHUTDOWN);
    }
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("LocalAgents").field("config", &self.config).finish_non_exhaustive()
    }
}
