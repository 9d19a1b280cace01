//! What the local model is made of.

use crate::{
    Engine,
    machine::{self, MachineFacts},
    models::download::Patience,
};
use openagents_core::model::SettingsStore;
use std::{path::PathBuf, sync::Arc, time::Instant};

/// Names a model file, which then is in use whatever the settings say.
pub const MODEL_VARIABLE: &str = "OPENAGENTS_LLAMA_MODEL";

/// What [`Local`](super::Local) is made of.
#[derive(Debug, Clone)]
pub struct LocalConfig {
    /// Where downloads go and where files are looked for.
    pub folder: PathBuf,
    /// Keeps what a person chose.
    pub settings: Arc<dyn SettingsStore>,
    /// Runs the model.
    pub engine: Arc<dyn Engine>,
    /// A file that is in use whatever the settings say.
    pub model_file: Option<PathBuf>,
    /// The server that models come from; `None` for the one of the environment.
    pub server: Option<String>,
    /// How often a broken connection is tried again.
    pub patience: Patience,
    /// Load the model in use at the start when the settings say so. Not for a program that ends at once.
    pub preload: bool,
    /// The tokens of the context that a person asks for.
    pub context: Option<u32>,
    pub(super) machine: Machine,
    pub(super) clock: Clock,
}

impl LocalConfig {
    /// This machine, this environment, and everything else as it should be.
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
            machine: Machine(Arc::new(MachineFacts::read)),
            clock: Clock(Arc::new(Instant::now)),
        }
    }

    /// With another machine than this one.
    #[must_use]
    pub fn with_machine(mut self, facts: impl Fn() -> MachineFacts + Send + Sync + 'static) -> Self {
        self.machine = Machine(Arc::new(facts));
        self
    }

    /// With another clock than the system's.
    #[must_use]
    pub fn with_clock(mut self, now: impl Fn() -> Instant + Send + Sync + 'static) -> Self {
        self.clock = Clock(Arc::new(now));
        self
    }
}

#[derive(Clone)]
pub(super) struct Machine(Arc<dyn Fn() -> MachineFacts + Send + Sync>);

impl Machine {
    pub(super) fn facts(&self) -> MachineFacts {
        (self.0)()
    }
}

impl std::fmt::Debug for Machine {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.facts().fmt(formatter)
    }
}

#[derive(Clone)]
pub(super) struct Clock(Arc<dyn Fn() -> Instant + Send + Sync>);

impl Clock {
    pub(super) fn now(&self) -> Instant {
        (self.0)()
    }
}

impl std::fmt::Debug for Clock {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.now().fmt(formatter)
    }
}
