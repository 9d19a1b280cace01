//! The state, and the snapshot made from it.

use super::{
    config::LocalConfig,
    saved::Saved,
    status::{OnDisk, Run, Work, status},
};
use crate::{
    machine::{self, Demand, MachineFacts, Verdict},
    models::{catalog::GPT_OSS_20B, model_store::Entry, verify::VerifyError},
};
use openagents_core::{
    CancellationToken,
    model::{DownloadOffer, LocalModelsError, MachineCard, ModelCard, ModelsSnapshot, Usage},
    text::sentence,
};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    thread::JoinHandle,
    time::Instant,
};

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

/// A running transfer of a model's file, and its cancellation.
#[derive(Debug)]
pub(super) struct Transfer {
    pub(super) work: Work,
    /// Distinguishes this transfer from earlier ones that report late.
    pub(super) number: u64,
    pub(super) stop: CancellationToken,
    pub(super) thread: Option<JoinHandle<()>>,
}

/// The engine's activity and the file it has loaded.
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
        let offered = self.to_come(entry);
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

    /// The size of a downloadable file; the server's listing takes precedence.
    fn to_come(&self, entry: &Entry) -> Option<u64> {
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
        let to_come = self.to_come(entry);
        // The catalog has an approximate size, the server the exact one.
        let file_bytes = to_come.filter(|_| entry.file.is_none()).unwrap_or(demand.file_bytes);
        let demand = demand.of_size(file_bytes);
        let context = machine::context_tokens(&demand, &self.machine, config.context);
        let Verdict { refusal, warning } = machine::to_run(&demand, context, &self.machine);
        let disk = to_come.filter(|_| entry.file.is_none()).map(|bytes| {
            let done = self.unfinished(entry).map_or(0, |(done, _)| done);
            machine::to_download(bytes, done, self.disk_free)
        });
        let reasons = refusal.into_iter().chain(disk.flatten()).chain(warning);
        reasons.map(|reason| sentence(&reason)).collect()
    }
}

/// Returns the requirements of a model; for one that is not downloaded yet, those stated by its makers.
pub(super) fn demand(entry: &Entry) -> Option<Demand> {
    match (&entry.file, entry.offer) {
        (Some(file), _) => file.header.as_ref().ok().map(Demand::of),
        (None, Some(offer)) => Some(Demand {
            gpt_oss_20b: true,
            file_bytes: offer.pin.bytes,
            cache_bytes_per_token: 48 << 10,
            context_length: Some(131_072),
        }),
        (None, None) => None,
    }
}
