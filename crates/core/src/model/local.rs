//! Local models and the commands to manage them.

use super::{
    language_model::{LanguageModel, Usage},
    settings::{ModelSettings, SettingsChange, SettingsError},
};
use serde::{Deserialize, Serialize};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};
use ts_rs::TS;

/// Manages the model files of this machine and the model in use.
pub trait LocalModels: Send + Sync + std::fmt::Debug {
    /// Returns the provider of the model in use; always the same object.
    fn model(&self) -> Arc<dyn LanguageModel>;

    /// Returns a model from a file that is not in the settings. It runs in a separate process, which ends with the
    /// object.
    fn open_file(&self, file: &Path) -> Result<Arc<dyn LanguageModel>, String> {
        Err(format!("{} cannot be opened here", file.display()))
    }

    /// Checks files and hardware again for the next snapshot. Reads files.
    fn refresh(&self) {}

    /// Returns the current state. Cheap: reads no files.
    fn snapshot(&self) -> ModelsSnapshot;

    /// Calls `on_change` on every change of the snapshot, from any thread, until the process ends; must not block.
    fn watch(&self, on_change: Arc<dyn Fn() + Send + Sync>);

    /// Runs a command. Long ones continue in the background and report to the snapshot.
    fn command(&self, command: ModelCommand) -> Result<(), LocalModelsError>;

    /// Stops downloads and the model's process. Partial downloads can be resumed. Blocks for at most 2 s.
    fn shut_down(&self);
}

/// A command from the user. `id` is [`ModelCard::id`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ModelCommand {
    /// Start or resume a download. `accept_licence`: the licence was shown and the user accepts it.
    Download {
        id: String,
        #[serde(default)]
        accept_licence: bool,
    },
    /// Pause a download and keep the partial file.
    Pause {
        id: String,
    },
    /// Stop a download and delete the partial file.
    #[serde(rename = "cancel")]
    CancelDownload {
        id: String,
    },
    /// Verify a file against its manifest.
    Verify {
        id: String,
    },
    /// Download missing or damaged parts again.
    Repair {
        id: String,
    },
    /// Delete a model's files. A model added from elsewhere is only removed from the list.
    Remove {
        id: String,
    },
    /// Add a GGUF file without moving it.
    Add {
        path: PathBuf,
    },
    Use {
        id: String,
    },
    Load,
    Unload,
    Configure {
        settings: SettingsChange,
    },
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ModelsSnapshot {
    /// gpt-oss-20b first, then the others by name.
    pub models: Vec<ModelCard>,
    pub settings: ModelSettings,
    pub machine: MachineCard,
    pub folder: PathBuf,
}

/// Hardware data relevant to models.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct MachineCard {
    /// Total memory in bytes.
    pub memory_bytes: u64,
    /// Available memory in bytes, including reclaimable pages.
    pub free_memory_bytes: u64,
    /// Free disk space of the models folder in bytes.
    pub free_disk_bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ModelCard {
    /// `gpt-oss-20b`, or derived from the file name.
    pub id: String,
    /// `GPTOSS 20B`, or the name in the file.
    pub name: String,
    /// Path of the file, if it exists.
    pub path: Option<PathBuf>,
    /// Size of the file or of the download in bytes.
    pub size_bytes: Option<u64>,
    pub status: ModelStatus,
    pub in_use: bool,
    /// Reasons why it cannot run here or will run badly; one sentence each, worst first.
    pub warnings: Vec<String>,
    /// Resident memory of its process in bytes, while loaded.
    pub memory_bytes: Option<u64>,
    /// Context size in tokens, while loaded.
    pub context_tokens: Option<u32>,
    /// Milliseconds since the epoch.
    pub last_used: Option<i64>,
    /// Figures of the last answer.
    pub usage: Option<Usage>,
    /// Result of the last hash check; `None` without a manifest.
    pub verified: Option<bool>,
    pub offer: Option<DownloadOffer>,
}

/// Information shown before a download.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct DownloadOffer {
    pub source: String,
    /// `Apache-2.0`.
    pub licence: String,
    pub licence_url: String,
    pub licence_accepted: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(tag = "state", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ModelStatus {
    /// The file does not exist.
    NotDownloaded,
    /// Downloading, in bytes; the total is 0 until known, the rate that of the last seconds.
    Downloading { done: u64, total: u64, bytes_per_second: u64 },
    /// A download is paused, in bytes.
    Paused { done: u64, total: u64 },
    /// Verifying the file against its manifest, from 0.0 to 1.0.
    Verifying { progress: f32 },
    /// The file exists; the model is not in memory.
    NotLoaded,
    /// Loading the file into memory, from 0.0 to 1.0.
    Loading { progress: f32 },
    /// In memory and idle.
    Ready,
    /// Answering a request.
    Generating,
    /// The last operation failed, with the reason and the remedy; a retry may succeed.
    Error { reason: String },
}

/// Why a command was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LocalModelsError {
    #[error("there is no model {0}; `openagents models list` lists the available ones")]
    Unknown(String),
    #[error("{model} is licensed under {licence} ({url}); accept the licence to download it")]
    Licence { model: String, licence: String, url: String },
    #[error("{0}")]
    Refused(String),
}

impl From<SettingsError> for LocalModelsError {
    fn from(error: SettingsError) -> Self {
        Self::Refused(error.to_string())
    }
}
