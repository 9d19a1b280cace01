//! The local model as a provider, and management of the models on this machine.
//!
//! [`Local`] coordinates: `provider` answers prompts, `commands` handles the user's commands, `transfers` downloads and
//! verifies files, `rest` unloads an idle model, and `state` is what clients see.

mod commands;
mod provider;
mod rest;
mod state;
mod transfers;

#[cfg(test)]
mod tests;

pub use crate::local::state::{LocalConfig, MODEL_VARIABLE};
use crate::{
    client::Helper,
    local::state::{Kept, Turns},
    models::model_store::ModelStore,
};
use openagents_core::model::{LanguageModel, LocalModels, LocalModelsError, ModelCommand, ModelsSnapshot};
use parking_lot::{Mutex, MutexGuard};
use serde::{Serialize, de::DeserializeOwned};
use state::State;
use std::{
    path::Path,
    sync::{
        Arc,
        mpsc::{SyncSender, sync_channel},
    },
};

/// The model files of this machine and the one in use. Clones share the same state.
#[derive(Debug, Clone)]
pub struct Local {
    inner: Arc<Inner>,
}

struct Inner {
    config: LocalConfig,
    state: Mutex<State>,
    store: Mutex<ModelStore>,
    saving: Mutex<()>,
    turns: Turns,
    watchers: Mutex<Vec<Arc<dyn Fn() + Send + Sync>>>,
    /// Wakes the thread that unloads idle models. One token is enough, however many changes there were.
    wake: SyncSender<()>,
}

impl Local {
    /// Lists the files, and loads the model in use if the settings request it.
    pub fn start(mut config: LocalConfig) -> Arc<Self> {
        // Files are identified by canonical path.
        config.model_file = config.model_file.map(|file| std::fs::canonicalize(&file).unwrap_or(file));
        config.folder = std::fs::canonicalize(&config.folder).unwrap_or(config.folder);
        let mut saved = state::Saved::default();
        saved.reload(&*config.settings);
        let preload = config.preload && saved.settings.preload;
        let (wake, woken) = sync_channel(1);
        let inner = Arc::new(Inner {
            state: Mutex::new(State::new(saved, config.clock.get())),
            store: Mutex::default(),
            saving: Mutex::default(),
            turns: Turns::default(),
            watchers: Mutex::default(),
            wake,
            config,
        });
        inner.refresh();
        let wake = inner.wake.clone();
        inner.config.engine.on_end(Arc::new(move || {
            let _ = wake.try_send(());
        }));
        inner.start_idle_checks(woken);
        if preload && let Err(refusal) = inner.command(ModelCommand::Load) {
            inner.show_load_failure(refusal.to_string());
        }
        Arc::new(Self { inner })
    }
}

impl LocalModels for Local {
    fn model(&self) -> Arc<dyn LanguageModel> {
        Arc::new(self.clone())
    }

    fn open_file(&self, file: &Path) -> Result<Arc<dyn LanguageModel>, String> {
        if !file.is_file() {
            return Err(format!("{}: there is no such file", file.display()));
        }
        Ok(Self::start(LocalConfig {
            engine: Arc::new(Helper::new()),
            model_file: Some(file.to_owned()),
            preload: false,
            ..self.inner.config.clone()
        }))
    }

    fn refresh(&self) {
        self.inner.refresh();
    }

    fn snapshot(&self) -> ModelsSnapshot {
        self.inner.state().snapshot(&self.inner.config)
    }

    fn watch(&self, on_change: Arc<dyn Fn() + Send + Sync>) {
        self.inner.watchers.lock().push(on_change);
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
        self.state.lock()
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let result = change(&mut self.state());
        self.notify_watchers();
        result
    }

    fn notify_watchers(&self) {
        let _ = self.wake.try_send(());
        let watchers = self.watchers.lock().clone();
        watchers.iter().for_each(|on_change| on_change());
    }

    /// Applies changes one at a time and returns once they are on disk.
    fn update_saved<T: Default + Serialize + DeserializeOwned>(
        &self,
        kept: &Kept<T>,
        change: impl FnOnce(&mut T) -> Result<(), LocalModelsError>,
    ) -> Result<(), LocalModelsError> {
        {
            let _saving = self.saving.lock();
            let store = &*self.config.settings;
            let mut value = kept.load(store)?;
            change(&mut value)?;
            kept.write(store, &value)?;
            *(kept.field)(&mut self.state().saved) = value;
        }
        self.notify_watchers();
        Ok(())
    }

    fn reload(&self) {
        let _saving = self.saving.lock();
        self.state().saved.reload(&*self.config.settings);
    }

    fn refresh(&self) {
        self.reload();
        {
            // Held until the change is made, so that an older listing can't overwrite a newer one.
            let mut store = self.store.lock();
            let added = {
                let state = self.state();
                let pinned = self.config.model_file.iter();
                pinned.chain(&state.saved.added).cloned().collect::<Vec<_>>()
            };
            let entries = store.entries(&self.config.folder, &added);
            let machine = self.config.machine.get();
            let disk_free = crate::machine::disk_free(&self.config.folder).unwrap_or_default();
            let mut state = self.state();
            state.entries = entries;
            state.machine = machine;
            state.disk_free = disk_free;
            state.forget_failures();
        }
        self.notify_watchers();
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let _ = self.wake.try_send(());
    }
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Local").field("config", &self.config).finish_non_exhaustive()
    }
}
