//! The user's settings for other agents' sessions.

use super::transcript::Provider;
use openagents_core::{
    git::real,
    model::{SettingsError, SettingsStore},
};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

/// The key of [`HistorySettings`] among the settings.
pub const HISTORY_SETTINGS: &str = "history";

/// The user's settings for other agents' sessions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct HistorySettings {
    /// Whether their words are indexed.
    pub index: bool,
    /// Whether paired devices may read them.
    pub devices: bool,
    /// The sessions that are left out.
    pub excluded: ExcludedSessions,
}

/// Sessions that are neither listed, found, searched, indexed nor read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ExcludedSessions {
    /// All sessions of these agents.
    pub agents: Vec<Provider>,
    /// The sessions that ran in these folders or below, as the user named them.
    pub workspaces: Vec<PathBuf>,
    /// The folders that each of the workspaces has covered: its canonical path, and other worktrees of its repository.
    /// They stay excluded when a link is changed or a worktree is removed.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub seen: BTreeMap<PathBuf, BTreeSet<PathBuf>>,
}

impl Default for HistorySettings {
    fn default() -> Self {
        Self { index: true, devices: false, excluded: ExcludedSessions::default() }
    }
}

impl HistorySettings {
    /// Reads the stored settings; the default if there are none. Fails if they cannot be read: sessions that the user
    /// has excluded must not come back. Blocks.
    pub fn stored(settings: &dyn SettingsStore) -> Result<Self, SettingsError> {
        let read = |value| serde_json::from_value(value).map_err(|error| SettingsError(error.to_string()));
        Ok(settings.get(HISTORY_SETTINGS)?.map(read).transpose()?.unwrap_or_default())
    }

    /// Stores the settings. Blocks.
    pub fn store(&self, settings: &dyn SettingsStore) -> Result<(), SettingsError> {
        let value = serde_json::to_value(self).map_err(|error| SettingsError(error.to_string()))?;
        settings.set(HISTORY_SETTINGS, value)
    }
}

impl ExcludedSessions {
    /// Excludes every session.
    pub fn all() -> Self {
        Self { agents: Provider::ALL.to_vec(), ..Self::default() }
    }

    /// Adds a workspace, once.
    pub fn exclude_workspace(&mut self, folder: PathBuf) {
        if !self.workspaces.contains(&folder) {
            self.workspaces.push(folder);
        }
    }

    /// Removes a workspace, and others that are the same folder under another path. Blocks.
    pub fn include_workspace(&mut self, folder: &Path) {
        let same = real(folder);
        self.workspaces.retain(|other| other != folder && real(other) != same);
        self.seen.retain(|other, _| self.workspaces.contains(other));
    }
}
