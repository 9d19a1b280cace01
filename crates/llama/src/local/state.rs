//! The state, and the snapshot made from it.

use crate::{
    Engine,
    limits::CANCEL_CHECK,
    machine::{self, Demand, MachineFacts, Pressure, Verdict},
    models::{catalog::GPT_OSS_20B, download::Patience, manifest::VerifyError, model_store::Entry},
};
use openagents_core::{
    CancellationToken,
    model::{
        DownloadOffer, LocalModelsError, MODEL_SETTINGS, MachineCard, ModelCard, ModelSettings, ModelStatus,
        ModelsSnapshot, SettingsError, SettingsStore, Usage,
    },
    text::sentence,
};
use serde::{Serialize, de::DeserializeOwned};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Waker},
    thread::JoinHandle,
    time::Instant,
};
use tokio::sync::{Semaphore, SemaphorePermit};

/// Environment variable with a model file, which overrides the settings.
pub const MODEL_VARIABLE: &str = "OPENAGENTS_LLAMA_MODEL";

/// Configuration of [`Local`](crate::local::Local).
#[derive(Debug, Clone)]
pub struct LocalConfig {
    /// The folder of downloads and model files.
    pub folder: PathBuf,
    pub settings: Arc<dyn SettingsStore>,
    /// The engine that runs the model.
    pub engine: Arc<dyn Engine>,
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
                .and_then(machine::parse_context),
            machine: Source(Arc::new(MachineFacts::from_system)),
            pressure: Source(Arc::new(Pressure::from_system)),
            clock: Source(Arc::new(Instant::now)),
        }
    }
}

/// A source of values that tests can replace.
#[derive(Clone)]
pub(super) struct Source<T>(pub(super) Arc<dyn Fn() -> T + Send + Sync>);

impl<T> Source<T> {
    pub(super) fn get(&self) -> T {
        (self.0)()
    }
}

impl<T: std::fmt::Debug> std::fmt::Debug for Source<T> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.get().fmt(formatter)
    }
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) saved: Saved,
    pub(super) entries: Vec<Entry>,
    pub(super) machine: MachineFacts,
    pub(super) disk_free: u64,
    /// By model id; models without a running or failed transfer are absent.
    pub(super) transfers: BTreeMap<String, Transfer>,
    pub(super) usage: BTreeMap<String, Usage>,
    pub(super) engine: EngineState,
    pub(super) next_transfer: u64,
    pub(super) closed: bool,
}

#[derive(Debug)]
pub(super) struct Transfer {
    pub(super) work: Work,
    /// Distinguishes this transfer from earlier ones that report late.
    pub(super) number: u64,
    pub(super) stop: CancellationToken,
    pub(super) thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
pub(super) struct EngineState {
    pub(super) run: Run,
    pub(super) path: Option<PathBuf>,
    pub(super) context_tokens: Option<u32>,
    pub(super) memory_bytes: Option<u64>,
    pub(super) loading: CancellationToken,
    pub(super) since: Instant,
}

impl State {
    pub(super) fn new(saved: Saved, now: Instant) -> Self {
        Self {
            saved,
            entries: Vec::new(),
            machine: MachineFacts { memory_total: 0, memory_free: 0, device_memory: None },
            disk_free: 0,
            transfers: BTreeMap::new(),
            usage: BTreeMap::new(),
            engine: EngineState {
                run: Run::Out,
                path: None,
                context_tokens: None,
                memory_bytes: None,
                loading: CancellationToken::new(),
                since: now,
            },
            next_transfer: 0,
            closed: false,
        }
    }

    pub(super) fn entry(&self, id: &str) -> Result<&Entry, LocalModelsError> {
        let found = self.entries.iter().find(|entry| entry.id == id);
        found.ok_or_else(|| LocalModelsError::Unknown(id.to_owned()))
    }

    pub(super) fn chosen(&self) -> &str {
        self.saved.settings.model.as_deref().unwrap_or(GPT_OSS_20B.id)
    }

    /// The model in use; `pinned` is a file that overrides the settings.
    pub(super) fn in_use(&self, pinned: Option<&Path>) -> Option<&Entry> {
        match pinned {
            Some(path) => self.entries.iter().find(|entry| entry.path == path),
            None => self.entries.iter().find(|entry| entry.id == self.chosen()),
        }
    }

    pub(super) fn work(&self, id: &str) -> Work {
        self.transfers.get(id).map(|transfer| transfer.work.clone()).unwrap_or_default()
    }

    /// Drops failed transfers of files that are complete by now.
    pub(super) fn forget_failures(&mut self) {
        let whole: Vec<_> = self
            .entries
            .iter()
            .filter(|entry| self.on_disk(entry) == OnDisk::Whole)
            .map(|entry| &entry.id)
            .collect();
        self.transfers
            .retain(|id, transfer| !(matches!(transfer.work, Work::Failed(_)) && whole.contains(&id)));
    }

    pub(super) fn run(&self, entry: &Entry) -> Run {
        if self.engine.path.as_ref() == Some(&entry.path) { self.engine.run.clone() } else { Run::Out }
    }

    pub(super) fn on_disk(&self, entry: &Entry) -> OnDisk {
        match (&entry.file, entry.unfinished) {
            (Some(_), _) if self.saved.verified.get(&entry.id) == Some(&false) => {
                OnDisk::Unusable(VerifyError::Hash.to_string())
            }
            (Some(file), _) => file.fault().map_or(OnDisk::Whole, OnDisk::Unusable),
            (None, Some((done, total))) => OnDisk::Part { done, total },
            (None, None) if entry.offer.is_some() => OnDisk::Nothing,
            (None, None) => {
                let path = entry.path.display();
                OnDisk::Unusable(format!(
                    "{path} does not exist; add the file at its new path, or remove the model"
                ))
            }
        }
    }

    pub(super) fn snapshot(&self, config: &LocalConfig) -> ModelsSnapshot {
        let in_use = self.in_use(config.model_file.as_deref()).map(|entry| entry.id.as_str());
        ModelsSnapshot {
            models: self.entries.iter().map(|entry| self.card(entry, in_use, config)).collect(),
            settings: self.saved.settings.clone(),
            machine: MachineCard {
                memory_bytes: self.machine.memory_total,
                free_memory_bytes: self.machine.memory_free,
                free_disk_bytes: self.disk_free,
            },
            folder: config.folder.clone(),
        }
    }

    fn card(&self, entry: &Entry, in_use: Option<&str>, config: &LocalConfig) -> ModelCard {
        let run = self.run(entry);
        let loaded = matches!(run, Run::Ready | Run::Generating);
        let offered = self.download_size(entry);
        let engine = loaded.then_some(&self.engine);
        ModelCard {
            id: entry.id.clone(),
            name: entry.name.clone(),
            path: entry.file.as_ref().map(|_| entry.path.clone()),
            size_bytes: entry.file.as_ref().map(|file| file.bytes).or(offered),
            status: status(&self.work(&entry.id), &run, &self.on_disk(entry)),
            in_use: in_use == Some(entry.id.as_str()),
            warnings: if loaded { Vec::new() } else { self.warnings(entry, config) },
            memory_bytes: engine.and_then(|engine| engine.memory_bytes),
            context_tokens: engine.and_then(|engine| engine.context_tokens),
            last_used: self.saved.last_used.get(&entry.id).copied(),
            usage: self.usage.get(&entry.id).copied(),
            verified: self.verified(entry),
            offer: entry.offer.map(|offer| DownloadOffer {
                source: offer.source.to_owned(),
                licence: offer.licence.to_owned(),
                licence_url: offer.licence_url.to_owned(),
                licence_accepted: self.saved.settings.accepted_licences.iter().any(|id| id == offer.id),
            }),
        }
    }

    /// A manifest is written after a comparison, so a file with one was valid once.
    fn verified(&self, entry: &Entry) -> Option<bool> {
        let record = entry.file.as_ref()?.record.as_ref()?;
        let whole = entry.file.as_ref().is_some_and(|file| file.bytes == record.size_bytes);
        Some(whole && self.saved.verified.get(&entry.id).copied().unwrap_or(true))
    }

    fn download_size(&self, entry: &Entry) -> Option<u64> {
        let total = self.unfinished(entry).map(|(_, total)| total);
        total.or(entry.offer.map(|offer| offer.pin.bytes))
    }

    /// A transfer is more up to date than the last listing of the files.
    fn unfinished(&self, entry: &Entry) -> Option<(u64, u64)> {
        match self.work(&entry.id) {
            Work::Downloading { done, total, .. } if total > 0 => Some((done, total)),
            _ => entry.unfinished,
        }
    }

    fn warnings(&self, entry: &Entry, config: &LocalConfig) -> Vec<String> {
        let Some(demand) = demand(entry) else { return Vec::new() };
        let download_size = self.download_size(entry);
        // The catalog has an approximate size, the server the exact one.
        let file_bytes = download_size.filter(|_| entry.file.is_none()).unwrap_or(demand.file_bytes);
        let demand = demand.with_file_size(file_bytes);
        let context = machine::context_tokens(&demand, &self.machine, config.context);
        let Verdict { refusal, warning } = machine::check_memory(&demand, context, &self.machine);
        let disk = download_size.filter(|_| entry.file.is_none()).map(|bytes| {
            let done = self.unfinished(entry).map_or(0, |(done, _)| done);
            machine::check_disk(bytes, done, self.disk_free)
        });
        let reasons = refusal.into_iter().chain(disk.flatten()).chain(warning);
        reasons.map(|reason| sentence(&reason)).collect()
    }
}

/// Returns the requirements of a model; for one that is not downloaded yet, those stated by its makers.
pub(super) fn demand(entry: &Entry) -> Option<Demand> {
    match (&entry.file, entry.offer) {
        (Some(file), _) => file.header.as_ref().ok().map(Demand::from_header),
        (None, Some(offer)) => Some(Demand {
            gpt_oss_20b: true,
            file_bytes: offer.pin.bytes,
            cache_bytes_per_token: 48 << 10,
            context_length: Some(131_072),
        }),
        (None, None) => None,
    }
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) enum Work {
    #[default]
    None,
    Downloading {
        done: u64,
        total: u64,
        per_second: u64,
    },
    Verifying(f32),
    Failed(String),
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) enum Run {
    #[default]
    Out,
    Loading(f32),
    Ready,
    Generating,
    Failed(String),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum OnDisk {
    Nothing,
    Part { done: u64, total: u64 },
    Whole,
    Unusable(String),
}

/// Returns the status for a card: activity first, then errors, then the file.
pub(super) fn status(work: &Work, run: &Run, on_disk: &OnDisk) -> ModelStatus {
    match (work, run, on_disk) {
        (&Work::Downloading { done, total, per_second }, ..) => {
            ModelStatus::Downloading { done, total, bytes_per_second: per_second }
        }
        (_, &Run::Loading(progress), _) => ModelStatus::Loading { progress },
        (_, Run::Generating, _) => ModelStatus::Generating,
        (&Work::Verifying(progress), ..) => ModelStatus::Verifying { progress },
        (Work::Failed(reason), ..) | (_, Run::Failed(reason), _) => {
            ModelStatus::Error { reason: reason.clone() }
        }
        (_, Run::Ready, _) => ModelStatus::Ready,
        (.., OnDisk::Unusable(reason)) => ModelStatus::Error { reason: reason.clone() },
        (.., OnDisk::Whole) => ModelStatus::NotLoaded,
        (.., &OnDisk::Part { done, total }) => ModelStatus::Paused { done, total },
        (.., OnDisk::Nothing) => ModelStatus::NotDownloaded,
    }
}

pub(super) const SETTINGS: Kept<ModelSettings> =
    Kept { key: MODEL_SETTINGS, field: |saved| &mut saved.settings, sanitize };
pub(super) const ADDED: Kept<Vec<PathBuf>> =
    Kept { key: "local_model_files", field: |saved| &mut saved.added, sanitize: |added| added };
pub(super) const LAST_USED: Kept<BTreeMap<String, i64>> =
    Kept { key: "local_model_last_used", field: |saved| &mut saved.last_used, sanitize: |all| all };
pub(super) const VERIFIED: Kept<BTreeMap<String, bool>> =
    Kept { key: "local_model_verified", field: |saved| &mut saved.verified, sanitize: |all| all };

/// The persistent data, as last read. Several programs share it, so each change starts from the current state.
#[derive(Debug, Default)]
pub(super) struct Saved {
    pub(super) settings: ModelSettings,
    /// Files outside the folder, in the order they were added.
    pub(super) added: Vec<PathBuf>,
    /// Time of the last use in milliseconds since the epoch, by model id.
    pub(super) last_used: BTreeMap<String, i64>,
    /// The result of the last hash comparison, by model id.
    pub(super) verified: BTreeMap<String, bool>,
}

pub(super) struct Kept<T> {
    key: &'static str,
    pub(super) field: fn(&mut Saved) -> &mut T,
    sanitize: fn(T) -> T,
}

impl Saved {
    /// Reads everything again. Invalid values are ignored: a damaged setting must not prevent startup.
    pub(super) fn reload(&mut self, store: &dyn SettingsStore) {
        SETTINGS.reload(store, self);
        ADDED.reload(store, self);
        LAST_USED.reload(store, self);
        VERIFIED.reload(store, self);
    }
}

impl<T: Default + Serialize + DeserializeOwned> Kept<T> {
    pub(super) fn load(&self, store: &dyn SettingsStore) -> Result<T, SettingsError> {
        let Some(value) = store.get(self.key)? else { return Ok(T::default()) };
        let value = serde_json::from_value(value).unwrap_or_else(|error| {
            tracing::warn!("skipped the saved {}: {error}", self.key);
            T::default()
        });
        Ok((self.sanitize)(value))
    }

    fn reload(&self, store: &dyn SettingsStore, saved: &mut Saved) {
        match self.load(store) {
            Ok(value) => *(self.field)(saved) = value,
            Err(error) => tracing::warn!("{error}"),
        }
    }

    pub(super) fn write(&self, store: &dyn SettingsStore, value: &T) -> Result<(), SettingsError> {
        let value = serde_json::to_value(value);
        store.set(self.key, value.map_err(|error| SettingsError(format!("{}: {error}", self.key)))?)
    }
}

fn sanitize(settings: ModelSettings) -> ModelSettings {
    let Err(reason) = settings.check() else { return settings };
    tracing::warn!("skipped the saved settings of the local model: {reason}");
    let ModelSettings { model, accepted_licences, .. } = settings;
    ModelSettings { model, accepted_licences, ..ModelSettings::default() }
}

/// The queue for the engine: one request at a time, in order of arrival.
#[derive(Debug)]
pub(super) struct Turns(Semaphore);

pub(super) type Turn<'a> = SemaphorePermit<'a>;

impl Default for Turns {
    fn default() -> Self {
        Self(Semaphore::new(1))
    }
}

impl Turns {
    /// Waits for a turn; `None` when cancelled. `on_wait` is called repeatedly during the wait.
    pub(super) fn wait_for_turn(
        &self,
        cancel: &CancellationToken,
        mut on_wait: impl FnMut(),
    ) -> Option<Turn<'_>> {
        // Keeps its place in the queue while it waits.
        let mut turn = pin!(self.0.acquire());
        let mut context = Context::from_waker(Waker::noop());
        while !cancel.is_cancelled() {
            if let Poll::Ready(turn) = turn.as_mut().poll(&mut context) {
                return turn.ok();
            }
            on_wait();
            std::thread::sleep(CANCEL_CHECK);
        }
        None
    }

    pub(super) fn try_turn(&self) -> Option<Turn<'_>> {
        self.0.try_acquire().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_prefers_activity_then_errors() {
        let downloading = Work::Downloading { done: 1, total: 4, per_second: 1 };
        let part = OnDisk::Part { done: 1, total: 4 };
        let broken = || OnDisk::Unusable("broken".to_owned());
        let error = |reason: &str| ModelStatus::Error { reason: reason.to_owned() };
        let rows = [
            (Work::None, Run::Out, OnDisk::Nothing, ModelStatus::NotDownloaded),
            (Work::None, Run::Out, part.clone(), ModelStatus::Paused { done: 1, total: 4 }),
            (Work::None, Run::Out, OnDisk::Whole, ModelStatus::NotLoaded),
            (Work::None, Run::Out, broken(), error("broken")),
            (
                downloading.clone(),
                Run::Out,
                part.clone(),
                ModelStatus::Downloading { done: 1, total: 4, bytes_per_second: 1 },
            ),
            (Work::Verifying(0.5), Run::Out, OnDisk::Whole, ModelStatus::Verifying { progress: 0.5 }),
            (Work::Verifying(0.5), Run::Ready, OnDisk::Whole, ModelStatus::Verifying { progress: 0.5 }),
            (Work::Verifying(0.5), Run::Generating, OnDisk::Whole, ModelStatus::Generating),
            (Work::Failed("no network".to_owned()), Run::Out, part, error("no network")),
            (Work::None, Run::Loading(0.4), OnDisk::Whole, ModelStatus::Loading { progress: 0.4 }),
            (Work::None, Run::Ready, OnDisk::Whole, ModelStatus::Ready),
            (Work::None, Run::Generating, broken(), ModelStatus::Generating),
            (Work::None, Run::Failed("crashed".to_owned()), OnDisk::Whole, error("crashed")),
        ];
        for (work, run, on_disk, expected) in rows {
            assert_eq!(status(&work, &run, &on_disk), expected, "{work:?} {run:?} {on_disk:?}");
        }
    }
}
