//! What outlives the program: the settings, the files that were added, and when a model was last used.

use openagents_core::model::{MODEL_SETTINGS, ModelSettings, SettingsError, SettingsStore};
use serde::{Serialize, de::DeserializeOwned};
use std::{collections::BTreeMap, path::PathBuf};

const ADDED: &str = "local_model_files";
const LAST_USED: &str = "local_model_last_used";
const VERIFIED: &str = "local_model_verified";

#[derive(Debug, Default)]
pub(super) struct Saved {
    pub(super) settings: ModelSettings,
    /// Files outside the folder, in the order in which they were added.
    pub(super) added: Vec<PathBuf>,
    /// Milliseconds since the epoch, by model id.
    pub(super) last_used: BTreeMap<String, i64>,
    /// Whether the last comparison found the hash right, by model id.
    pub(super) verified: BTreeMap<String, bool>,
}

impl Saved {
    /// What cannot be read has its default: a damaged setting must not keep the program from starting.
    pub(super) fn read(store: &dyn SettingsStore) -> Self {
        let settings: ModelSettings = read(store, MODEL_SETTINGS);
        let settings = match settings.check() {
            Ok(()) => settings,
            Err(reason) => {
                tracing::warn!("the saved settings of the local model are left out: {reason}");
                let ModelSettings { model, accepted_licences, .. } = settings;
                ModelSettings { model, accepted_licences, ..ModelSettings::default() }
            }
        };
        Self {
            settings,
            added: read(store, ADDED),
            last_used: read(store, LAST_USED),
            verified: read(store, VERIFIED),
        }
    }
}

pub(super) fn save_settings(
    store: &dyn SettingsStore,
    settings: &ModelSettings,
) -> Result<(), SettingsError> {
    save(store, MODEL_SETTINGS, settings)
}

pub(super) fn save_added(store: &dyn SettingsStore, added: &[PathBuf]) -> Result<(), SettingsError> {
    save(store, ADDED, added)
}

pub(super) fn save_last_used(
    store: &dyn SettingsStore,
    last_used: &BTreeMap<String, i64>,
) -> Result<(), SettingsError> {
    save(store, LAST_USED, last_used)
}

pub(super) fn save_verified(
    store: &dyn SettingsStore,
    verified: &BTreeMap<String, bool>,
) -> Result<(), SettingsError> {
    save(store, VERIFIED, verified)
}

fn read<T: DeserializeOwned + Default>(store: &dyn SettingsStore, key: &str) -> T {
    let value = store.get(key).and_then(|value| {
        let value = value.map(serde_json::from_value).transpose();
        value.map_err(|error| SettingsError(format!("{key}: {error}")))
    });
    value
        .unwrap_or_else(|error| {
            tracing::warn!("{error}");
            None
        })
        .unwrap_or_default()
}

fn save<T: Serialize + ?Sized>(store: &dyn SettingsStore, key: &str, value: &T) -> Result<(), SettingsError> {
    let value = serde_json::to_value(value).map_err(|error| SettingsError(format!("{key}: {error}")))?;
    store.set(key, value)
}
