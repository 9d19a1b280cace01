//! Test setup: a scripted engine, settings in memory, a folder.

use crate::{
    Engine, LoadRequest, Loaded,
    engine::Device,
    gguf::testing::{Draft, Pair},
    local::{Local, LocalConfig, state::Source},
    machine::{MachineFacts, Pressure},
    models::download::Patience,
};
use openagents_core::{
    CancellationToken,
    model::{
        Activity, LanguageModel, LocalModels, ModelCard, ModelCommand, ModelError, ModelEvent, ModelRequest,
        ModelStatus, SettingsError, SettingsStore, StopReason, Usage,
    },
};
use serde_json::Value;
use std::{
    collections::{BTreeMap, VecDeque},
    path::PathBuf,
    sync::{Arc, Condvar, Mutex},
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// Time limit for every wait; exceeding it means a hang.
const HANG: Duration = Duration::from_secs(60);

pub(super) const ROOMY: MachineFacts =
    MachineFacts { memory_total: 64 << 30, memory_free: 48 << 30, device_memory: None };

#[derive(Debug, Default)]
pub(super) struct MemorySettings(Mutex<BTreeMap<String, Value>>);

impl SettingsStore for MemorySettings {
    fn get(&self, key: &str) -> Result<Option<Value>, SettingsError> {
        Ok(self.0.lock().unwrap().get(key).cloned())
    }

    fn set(&self, key: &str, value: Value) -> Result<(), SettingsError> {
        self.0.lock().unwrap().insert(key.to_owned(), value);
        Ok(())
    }
}

/// The behaviour of the next load or generation; success by default.
#[derive(Debug, Clone)]
pub(super) enum Cue {
    Well,
    /// Waits until the test releases it or it is cancelled.
    Wait,
    Fail(ModelError),
    /// The process exits.
    Crash,
}

#[derive(Default)]
struct Acting {
    running: bool,
    loaded: Option<Loaded>,
    memory: Option<u64>,
    cues: VecDeque<Cue>,
    /// The behaviour of the next start of the process.
    starts: VecDeque<Cue>,
    /// The process exits before the next request checks it.
    dies_before_next: bool,
    on_end: Option<Arc<dyn Fn() + Send + Sync>>,
    loads: Vec<PathBuf>,
    go: bool,
}

#[derive(Default)]
pub(super) struct ScriptedEngine {
    acting: Mutex<Acting>,
    changed: Condvar,
}

impl std::fmt::Debug for ScriptedEngine {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("ScriptedEngine")
    }
}

impl ScriptedEngine {
    pub(super) fn cue_start(&self, cue: Cue) {
        self.acting.lock().unwrap().starts.push_back(cue);
    }

    /// Sets the memory that models need from now on.
    pub(super) fn needs(&self, bytes: u64) {
        self.acting.lock().unwrap().memory = Some(bytes);
    }

    pub(super) fn is_running(&self) -> bool {
        self.acting.lock().unwrap().running
    }

    /// Ends the process like a crash.
    pub(super) fn die(&self) {
        let on_end = {
            let mut acting = self.acting.lock().unwrap();
            (acting.running, acting.loaded) = (false, None);
            acting.on_end.clone()
        };
        on_end.unwrap()();
    }

    pub(super) fn die_before_next(&self) {
        self.acting.lock().unwrap().dies_before_next = true;
    }

    pub(super) fn cue(&self, cues: impl IntoIterator<Item = Cue>) {
        self.acting.lock().unwrap().cues.extend(cues);
    }

    /// Releases waiting calls.
    pub(super) fn go(&self) {
        self.acting.lock().unwrap().go = true;
        self.changed.notify_all();
    }

    /// The names of the loaded files, in order.
    pub(super) fn loads(&self) -> Vec<String> {
        let name = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
        self.acting.lock().unwrap().loads.iter().map(name).collect()
    }

    fn play(&self, cancel: &CancellationToken) -> Result<(), ModelError> {
        let cue = self.acting.lock().unwrap().cues.pop_front().unwrap_or(Cue::Well);
        self.act(cue, cancel)
    }

    fn act(&self, cue: Cue, cancel: &CancellationToken) -> Result<(), ModelError> {
        match cue {
            Cue::Well => Ok(()),
            Cue::Fail(error) => Err(error),
            Cue::Crash => {
                let mut acting = self.acting.lock().unwrap();
                (acting.running, acting.loaded) = (false, None);
                Err(ModelError::Crashed("signal 6".to_owned()))
            }
            Cue::Wait => {
                let (begun, mut acting) = (Instant::now(), self.acting.lock().unwrap());
                while !acting.go && begun.elapsed() < HANG {
                    if cancel.is_cancelled() {
                        return Err(ModelError::Cancelled);
                    }
                    acting = self.changed.wait_timeout(acting, Duration::from_millis(5)).unwrap().0;
                }
                acting.go = false;
                Ok(())
            }
        }
    }
}

impl Engine for ScriptedEngine {
    fn load(
        &self,
        load: &LoadRequest,
        cancel: &CancellationToken,
        on_progress: &mut dyn FnMut(f32),
    ) -> Result<Loaded, ModelError> {
        {
            let mut acting = self.acting.lock().unwrap();
            (acting.running, acting.loaded) = (true, None);
        }
        on_progress(0.5);
        self.play(cancel)?;
        let loaded = Loaded {
            path: load.path.clone(),
            name: "Scripted".to_owned(),
            architecture: "gpt-oss".to_owned(),
            context_tokens: load.context_tokens,
            tools: true,
        };
        let mut acting = self.acting.lock().unwrap();
        acting.loads.push(load.path.clone());
        acting.loaded = Some(loaded.clone());
        Ok(loaded)
    }

    fn generate(
        &self,
        _request: &ModelRequest,
        cancel: &CancellationToken,
        on_event: &mut dyn FnMut(ModelEvent),
    ) -> Result<StopReason, ModelError> {
        assert!(self.loaded().is_some(), "nothing is loaded");
        on_event(ModelEvent::Activity(Activity::ReadingPrompt { progress: 1.0 }));
        self.play(cancel)?;
        on_event(ModelEvent::Text("Hello".to_owned()));
        on_event(ModelEvent::Usage(Usage { tokens: 1, ..Usage::default() }));
        Ok(StopReason::EndTurn)
    }

    fn unload(&self) {
        let mut acting = self.acting.lock().unwrap();
        (acting.running, acting.loaded) = (false, None);
    }

    fn settle(&self, _cancel: &CancellationToken) -> Result<(), ModelError> {
        let mut acting = self.acting.lock().unwrap();
        if std::mem::take(&mut acting.dies_before_next) {
            (acting.running, acting.loaded) = (false, None);
        }
        Ok(())
    }

    fn devices(&self, cancel: &CancellationToken) -> Result<Vec<Device>, ModelError> {
        let cue = {
            let mut acting = self.acting.lock().unwrap();
            acting.running = true;
            acting.starts.pop_front().unwrap_or(Cue::Well)
        };
        self.act(cue, cancel).map(|()| Vec::new())
    }

    fn on_end(&self, shown: Arc<dyn Fn() + Send + Sync>) {
        self.acting.lock().unwrap().on_end = Some(shown);
    }

    fn loaded(&self) -> Option<Loaded> {
        self.acting.lock().unwrap().loaded.clone()
    }

    fn memory_bytes(&self) -> Option<u64> {
        self.loaded().map(|_| self.acting.lock().unwrap().memory.unwrap_or(123))
    }
}

pub(super) struct Stage {
    pub(super) folder: TempDir,
    pub(super) engine: Arc<ScriptedEngine>,
    pub(super) settings: Arc<MemorySettings>,
    pub(super) server: Option<String>,
}

impl Stage {
    pub(super) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            engine: Arc::default(),
            settings: Arc::default(),
            server: None,
        }
    }

    /// Adds a small model to the folder.
    pub(super) fn with_model(self, file: &str) -> Self {
        let draft = Draft::gpt_oss().with("general.name", Pair::Text("Tiny"));
        std::fs::write(self.folder.path().join(file), draft.bytes()).unwrap();
        self
    }

    pub(super) fn config(&self) -> LocalConfig {
        let folder = self.folder.path().to_owned();
        LocalConfig {
            model_file: None,
            context: None,
            server: self.server.clone(),
            patience: Patience { attempts: 3, pause: Duration::from_millis(1) },
            ..LocalConfig::new(folder, self.settings.clone(), self.engine.clone())
        }
        .with_machine(|| ROOMY)
        .with_pressure(|| None)
    }

    pub(super) fn local(&self) -> Arc<Local> {
        Local::start(self.config())
    }

    /// Creates a `Local` with this model in use.
    pub(super) fn local_with(&self, id: &str) -> Arc<Local> {
        let local = self.local();
        local.command(ModelCommand::Use { id: id.to_owned() }).unwrap();
        local
    }
}

pub(super) fn card(local: &Local, id: &str) -> ModelCard {
    let found = local.snapshot().models.into_iter().find(|card| card.id == id);
    found.unwrap_or_else(|| panic!("no model {id}"))
}

pub(super) fn until(local: &Local, id: &str, reached: impl Fn(&ModelStatus) -> bool) -> ModelStatus {
    let begun = Instant::now();
    loop {
        let status = card(local, id).status;
        if reached(&status) {
            return status;
        }
        assert!(begun.elapsed() < HANG, "{id} stays {status:?}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Sends a request and returns the events with the answer.
pub(super) fn ask(
    local: &Local,
    cancel: &CancellationToken,
) -> (Vec<ModelEvent>, Result<StopReason, ModelError>) {
    let mut events = Vec::new();
    let result = local.respond(&ModelRequest::default(), cancel, &mut |event| events.push(event));
    (events, result)
}

impl LocalConfig {
    pub(super) fn with_machine(mut self, facts: impl Fn() -> MachineFacts + Send + Sync + 'static) -> Self {
        self.machine = Source(Arc::new(facts));
        self
    }

    /// Replaces the memory pressure that the system reports.
    pub(super) fn with_pressure(
        mut self,
        reply: impl Fn() -> Option<Pressure> + Send + Sync + 'static,
    ) -> Self {
        self.pressure = Source(Arc::new(reply));
        self
    }

    /// Replaces the system's clock.
    pub(super) fn with_clock(mut self, now: impl Fn() -> Instant + Send + Sync + 'static) -> Self {
        self.clock = Source(Arc::new(now));
        self
    }
}
