//! Persistent data: the settings, the added files, and when a model was last used.
//!
//! Several programs share it, so each change starts from the current state.

use openagents_core::model::{MODEL_SETTINGS, ModelSettings, SettingsError, SettingsStore};
use serde::{Serialize, de::DeserializeOwned};
use std::{collections::BTreeMap, path::PathBuf};

pub(super) const SETTINGS: Kept<ModelSettings> =
    Kept { key: MODEL_SETTINGS, of: |saved| &mut saved.settings, sound };
pub(super) const ADDED: Kept<Vec<PathBuf>> =
    Kept { key: "local_model_files", of: |saved| &mut saved.added, sound: |added| added };
pub(super) const LAST_USED: Kept<BTreeMap<String, i64>> =
    Kept { key: "local_model_last_used", of: |saved| &mut saved.last_used, sound: |all| all };
pub(super) const VERIFIED: Kept<BTreeMap<String, bool>> =
    Kept { key: "local_model_verified", of: |saved| &mut saved.verified, sound: |all| all };

/// All persistent data, as last read.
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
    pub(super) of: fn(&mut Saved) -> &mut T,
    /// Removes invalid values.
    sound: fn(T) -> T,
}

impl Saved {
    /// Reads everything again. Invalid values are ignored: a damaged setting must not prevent startup.
    pub(super) fn reread(&mut self, store: &dyn SettingsStore) {
        SETTINGS.reread(store, self);
        ADDED.reread(store, self);
        LAST_USED.reread(store, self);
        VERIFIED.reread(store, self);
    }
}

impl<T: Default + Serialize + DeserializeOwned> Kept<T> {
    pub(super) fn read(&self, store: &dyn SettingsStore) -> Result<T, SettingsError> {
        let Some(value) = store.get(self.key)? else { return Ok(T::default()) };
        let value = serde_json::from_value(value).unwrap_or_else(|error| {
            tracing::warn!("skipped the saved {}: {error}", self.key);
            T::default()
        });
        Ok((self.sound)(value))
    }

    fn reread(&self, store: &dyn SettingsStore, saved: &mut Saved) {
        match self.read(store) {
            Ok(value) => *(self.of)(saved) = value,
            Err(error) => tracing::warn!("{error}"),
        }
    }

    pub(super) fn write(&self, store: &dyn SettingsStore, value: &T) -> Result<(), SettingsError> {
        let value = serde_json::to_value(value);
        store.set(self.key, value.map_err(|error| SettingsError(format!("{}: {error}", self.key)))?)
    }
}

fn sound(settings: ModelSettings) -> ModelSettings {
    let Err(reason) = settings.check() else { return settings };
    tracing::warn!("skipped the saved settings of the local model: {reason}");
    let ModelSettings { model, accepted_licences, .. } = settings;
    ModelSettings { model, accepted_licences, ..ModelSettings::default() }
}
