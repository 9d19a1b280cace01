//! The models on this machine as a person manages them: what a card shows, and what can be done.

use super::{LanguageModel, ModelSettings, SettingsChange, Usage};
use serde::Serialize;
use std::{path::PathBuf, sync::Arc};

/// Manages the model files of this machine and the one that is in use.
pub trait LocalModels: Send + Sync + std::fmt::Debug {
    /// Returns the model in use as a provider; the same object whatever model that is.
    fn model(&self) -> Arc<dyn LanguageModel>;

    /// Looks at the files and the machine again, for the next snapshot. Reads files.
    fn refresh(&self) {}

    /// Returns how everything stands. Cheap: reads no files.
    fn snapshot(&self) -> ModelsSnapshot;

    /// Calls `on_change` whenever a snapshot would differ, from any thread, until the process ends. It must not block.
    fn watch(&self, on_change: Arc<dyn Fn() + Send + Sync>);

    /// Does what a person asked for. What takes long (a download, a load, a verification) goes on after the return and
    /// tells its progress and its end in the snapshot.
    fn command(&self, command: ModelCommand) -> Result<(), LocalModelsError>;

    /// Ends downloads and the model's process. What was downloaded stays and can be resumed. Blocks for 2 s at most.
    fn shut_down(&self);
}

/// What a person can ask for. `id` is [`ModelCard::id`].
#[derive(Debug, Clone, PartialEq)]
pub enum ModelCommand {
    /// Begin or resume a download. `accept_licence` says that the licence was shown and accepted.
    Download {
        /// The model.
        id: String,
        /// The person has seen the licence and accepts it.
        accept_licence: bool,
    },
    /// Stop a download for now; what is there stays.
    Pause {
        /// The model.
        id: String,
    },
    /// Stop a download and delete what is there.
    CancelDownload {
        /// The model.
        id: String,
    },
    /// Compare a file with its manifest.
    Verify {
        /// The model.
        id: String,
    },
    /// Download again what is missing or damaged.
    Repair {
        /// The model.
        id: String,
    },
    /// Delete a model's files. One that was added from elsewhere is only forgotten.
    Remove {
        /// The model.
        id: String,
    },
    /// Make a GGUF file known, where it lies.
    Add {
        /// The file.
        path: PathBuf,
    },
    /// Answer with this model from now on.
    Use {
        /// The model.
        id: String,
    },
    /// Load the model in use now.
    Load,
    /// Give its memory back now.
    Unload,
    /// Change some settings.
    Configure(SettingsChange),
}

/// How the models stand.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelsSnapshot {
    /// gpt-oss-20b first, then the others by name.
    pub models: Vec<ModelCard>,
    /// What a person chose.
    pub settings: ModelSettings,
    /// The machine in figures.
    pub machine: MachineCard,
    /// Where downloads go.
    pub folder: PathBuf,
}

/// The machine in figures, as far as models care.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MachineCard {
    /// Bytes of memory in all.
    pub memory_bytes: u64,
    /// Bytes of memory that could be had now, reclaimable pages included.
    pub free_memory_bytes: u64,
    /// Bytes free on the disk of the models folder.
    pub free_disk_bytes: u64,
}

/// One model.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelCard {
    /// `gpt-oss-20b`, or a name made of the file's.
    pub id: String,
    /// `GPTOSS 20B`, or what the file says about itself.
    pub name: String,
    /// The file, where there is one.
    pub path: Option<PathBuf>,
    /// Bytes of the file, or of what would be downloaded.
    pub size_bytes: Option<u64>,
    /// What it is doing.
    pub status: ModelStatus,
    /// It answers when a prompt goes to the local model.
    pub in_use: bool,
    /// Why it cannot run here, or will run badly: one sentence each, worst first.
    pub warnings: Vec<String>,
    /// Resident memory of its process, while it is loaded.
    pub memory_bytes: Option<u64>,
    /// Tokens that its context holds, while it is loaded.
    pub context_tokens: Option<u32>,
    /// Milliseconds since the epoch.
    pub last_used: Option<i64>,
    /// Figures of the last answer.
    pub usage: Option<Usage>,
    /// Whether its hash was compared and found right; `None` for a file without a manifest.
    pub verified: Option<bool>,
    /// How to get it, for a model of the catalog.
    pub offer: Option<DownloadOffer>,
}

/// What a person is told before a download.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DownloadOffer {
    /// The page of the model.
    pub source: String,
    /// `Apache-2.0`.
    pub licence: String,
    /// The text of the licence, on the web.
    pub licence_url: String,
    /// Whether it was accepted.
    pub licence_accepted: bool,
}

/// What a model is doing.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ModelStatus {
    /// There is no file.
    NotDownloaded,
    /// Bytes come in.
    Downloading {
        /// Bytes that are there.
        done: u64,
        /// Bytes in all; 0 until the server has said it.
        total: u64,
        /// Of the last seconds.
        bytes_per_second: u64,
    },
    /// A download waits for a person.
    Paused {
        /// Bytes that are there.
        done: u64,
        /// Bytes in all.
        total: u64,
    },
    /// The file is compared with its manifest.
    Verifying {
        /// 0.0 to 1.0.
        progress: f32,
    },
    /// The file is there; the model is not in memory.
    NotLoaded,
    /// The file is read into memory.
    Loading {
        /// 0.0 to 1.0.
        progress: f32,
    },
    /// It is in memory and has nothing to do.
    Ready,
    /// It answers.
    Generating,
    /// Something went wrong; the next attempt may go better.
    Error {
        /// What happened and what to do.
        reason: String,
    },
}

/// Why a command was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LocalModelsError {
    /// There is no such model.
    #[error("there is no model {0}; `openagents models list` shows those there are")]
    Unknown(String),
    /// The licence comes first.
    #[error("{model} is licensed under {licence} ({url}); accept the licence to download it")]
    Licence {
        /// The model.
        model: String,
        /// Its licence.
        licence: String,
        /// Where it can be read.
        url: String,
    },
    /// It cannot be done now, or not with this file: one sentence.
    #[error("{0}")]
    Refused(String),
}

impl From<super::SettingsError> for LocalModelsError {
    fn from(error: super::SettingsError) -> Self {
        Self::Refused(error.to_string())
    }
}
