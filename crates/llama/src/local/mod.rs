//! The local model as a provider, and the models of this machine as a person manages them.
//!
//! [`Local`] decides what may happen when: `provider` answers, `commands` does what a person asks for, `transfers`
//! downloads and verifies, `rest` gives the memory back when nobody needs it. What is shown of it all is `status`,
//! a pure function of `state`.

mod commands;
mod config;
mod provider;
mod rest;
mod saved;
mod state;
mod status;
mod transfers;
mod turns;

#[cfg(test)]
mod tests;

pub use config::{LocalConfig, MODEL_VARIABLE};

use crate::models::shelf::Shelf;
use openagents_core::model::{LanguageModel, LocalModels, LocalModelsError, ModelCommand, ModelsSnapshot};
use rest::Bell;
use state::State;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use turns::Turns;

/// The model files of this machine and the one that is in use. A handle: clones are the same.
#[derive(Debug, Clone)]
pub struct Local {
    inner: Arc<Inner>,
}

struct Inner {
    config: LocalConfig,
    state: Mutex<State>,
    shelf: Mutex<Shelf>,
    /// Held while settings are changed.
    saving: Mutex<()>,
    /// Who has the engine.
    turns: Turns,
    watchers: Mutex<Vec<Arc<dyn Fn() + Send + Sync>>>,
    bell: Arc<Bell>,
}

impl Local {
    /// Looks at the files, and loads the model in use when the settings say so.
    pub fn start(mut config: LocalConfig) -> Arc<Self> {
        // A file is known by its path, so that each has one.
        config.model_file = config.model_file.map(|file| std::fs::canonicalize(&file).unwrap_or(file));
        config.folder = std::fs::canonicalize(&config.folder).unwrap_or(config.folder);
        let mut saved = saved::Saved::default();
        saved.reread(&*config.settings);
        let preload = config.preload && saved.settings.preload;
        let inner = Arc::new(Inner {
            state: Mutex::new(State::new(saved, config.clock.now())),
            shelf: Mutex::default(),
            saving: Mutex::default(),
            turns: Turns::default(),
            watchers: Mutex::default(),
            bell: Arc::default(),
            config,
        });
        inner.refresh();
        let bell = inner.bell.clone();
        inner.config.engine.on_end(Arc::new(move || bell.ring()));
        rest::start(&inner);
        if preload && let Err(refusal) = inner.command(ModelCommand::Load) {
            inner.not_loaded(refusal.to_string());
        }
        Arc::new(Self { inner })
    }
}

impl LocalModels for Local {
    fn model(&self) -> Arc<dyn LanguageModel> {
        Arc::new(self.clone())
    }

    fn refresh(&self) {
        self.inner.refresh();
    }

    fn snapshot(&self) -> ModelsSnapshot {
        self.inner.state().snapshot(&self.inner.config)
    }

    fn watch(&self, on_change: Arc<dyn Fn() + Send + Sync>) {
        lock(&self.inner.watchers).push(on_change);
    }

    fn command(&self, command: ModelCommand) -> Result<(), LocalModelsError> {
        self.inner.command(command)
    }

    fn shut_down(&self) {
        self.inner.shut_down();
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Changes the state and tells the watchers.
    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let result = change(&mut self.state());
        self.tell();
        result
    }

    fn tell(&self) {
        self.bell.ring();
        let watchers = lock(&self.watchers).clone();
        watchers.iter().for_each(|on_change| on_change());
    }

    /// Looks at the files and the machine again.
    fn refresh(&self) {
        self.reread();
        {
            // Until the change is made: who looked first must not have the last word.
            let mut shelf = lock(&self.shelf);
            let added = {
                let state = self.state();
                let pinned = self.config.model_file.iter();
                pinned.chain(&state.saved.added).cloned().collect::<Vec<_>>()
            };
            let entries = shelf.entries(&self.config.folder, &added);
            let machine = self.config.machine.facts();
            let disk_free = crate::machine::disk_free(&self.config.folder).unwrap_or_default();
            let mut state = self.state();
            state.entries = entries;
            state.machine = machine;
            state.disk_free = disk_free;
            state.forget_failures();
        }
        self.tell();
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.bell.end();
    }
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Local").field("config", &self.config).finish_non_exhaustive()
    }
}

/// A panic elsewhere leaves values that are whole: they are changed by assignments alone.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
