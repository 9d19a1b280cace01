//! The person's settings for other agents' sessions.

use super::transcript::{Provider, Transcript};
use crate::model::{SettingsError, SettingsStore};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The key of [`HistorySettings`] among the settings.
pub const HISTORY_SETTINGS: &str = "history";

/// The person's settings for other agents' sessions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct HistorySettings {
    /// Their words are indexed.
    pub index: bool,
    /// Paired devices may read them.
    pub devices: bool,
    /// Whose are left out.
    pub excluded: ExcludedSessions,
}

/// Sessions that are neither listed, found, searched, indexed nor read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ExcludedSessions {
    /// All sessions of these agents.
    pub agents: Vec<Provider>,
    /// The sessions that ran in these folders or below.
    pub workspaces: Vec<PathBuf>,
}

impl Default for HistorySettings {
    fn default() -> Self {
        Self { index: true, devices: false, excluded: ExcludedSessions::default() }
    }
}

impl HistorySettings {
    /// Reads the stored settings; the default if there are none. Fails if they cannot be read: what a person has
    /// excluded must not come back. Blocks.
    pub fn stored(settings: &dyn SettingsStore) -> Result<Self, SettingsError> {
        let read = |value| serde_json::from_value(value).map_err(|error| SettingsError(error.to_string()));
        Ok(settings.get(HISTORY_SETTINGS)?.map(read).transpose()?.unwrap_or_default())
    }

    /// Stores them. Blocks.
    pub fn store(&self, settings: &dyn SettingsStore) -> Result<(), SettingsError> {
        let value = serde_json::to_value(self).map_err(|error| SettingsError(error.to_string()))?;
        settings.set(HISTORY_SETTINGS, value)
    }
}

impl ExcludedSessions {
    /// Every session.
    pub fn all() -> Self {
        Self { agents: Provider::ALL.to_vec(), workspaces: Vec::new() }
    }

    /// Returns whether a session is left out.
    pub(super) fn hold(&self, row: &Transcript) -> bool {
        let is_in = |cwd: &PathBuf| self.workspaces.iter().any(|folder| cwd.starts_with(folder));
        self.agents.contains(&row.provider) || row.cwd.as_ref().is_some_and(is_in)
    }
}
