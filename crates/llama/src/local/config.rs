//! Configuration of the local model.

use crate::{
    Engine,
    machine::{self, MachineFacts, Pressure},
    models::download::Patience,
};
use openagents_core::model::SettingsStore;
use std::{path::PathBuf, sync::Arc, time::Instant};

/// Environment variable with a model file, which overrides the settings.
pub const MODEL_VARIABLE: &str = "OPENAGENTS_LLAMA_MODEL";

/// Configuration of [`Local`](super::Local).
#[derive(Debug, Clone)]
pub struct LocalConfig {
    /// The folder of downloads and model files.
    pub folder: PathBuf,
    /// Storage of the settings.
    pub settings: Arc<dyn SettingsStore>,
    /// The engine that runs the model.
    pub engine: Arc<dyn Engine>,
    /// A model file that overrides the settings.
    pub model_file: Option<PathBuf>,
    /// The download server; `None` to use the one from the environment.
    pub server: Option<String>,
    /// Retries of a broken connection.
    pub(crate) patience: Patience,
    /// Whether to load the model in use at startup if the settings request it. Not for short-lived programs.
    pub preload: bool,
    /// The requested context length in tokens.
    pub context: Option<u32>,
    pub(super) machine: Source<MachineFacts>,
    /// `None` if the system does not report it.
    pub(super) pressure: Source<Option<Pressure>>,
    pub(super) clock: Source<Instant>,
}

impl LocalConfig {
    /// Uses this machine, this environment, and defaults for everything else.
    pub fn new(folder: PathBuf, settings: Arc<dyn SettingsStore>, engine: Arc<dyn Engine>) -> Self {
        let named = std::env::var_os(MODEL_VARIABLE).filter(|path| !path.is_empty());
        Self {
            folder,
            settings,
            engine,
            model_file: named.map(PathBuf::from),
            server: None,
            patience: Patience::default(),
            preload: true,
            context: std::env::var(machine::CONTEXT_VARIABLE)
                .ok()
                .as_deref()
                .and_then(machine::asked_context),
            machine: Source(Arc::new(MachineFacts::read)),
            pressure: Source(Arc::new(Pressure::of_system)),
            clock: Source(Arc::new(Instant::now)),
        }
    }
}

/// A source of values that tests can replace.
#[derive(Clone)]
pub(super) struct Source<T>(pub(super) Arc<dyn Fn() -> T + Send + Sync>);

impl<T> Source<T> {
    pub(super) fn read(&self) -> T {
        (self.0)()
    }
}

impl<T: std::fmt::Debug> std::fmt::Debug for Source<T> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.read().fmt(formatter)
    }
}
