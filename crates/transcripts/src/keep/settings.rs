//! The user's settings for kept copies.

use crate::history::Provider;
use openagents_core::model::{SettingsError, SettingsStore};
use serde::{Deserialize, Serialize};

/// The key of [`KeepSettings`] among the settings.
pub const KEEP_SETTINGS: &str = "keep";

/// Bytes that copies may take by default.
const LIMIT: u64 = 10_000_000_000;

/// The smallest limit in bytes.
pub const LEAST_LIMIT: u64 = 100_000_000;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct KeepSettings {
    /// Whether copies are kept; `None` until the user has answered.
    pub on: Option<bool>,
    /// Bytes that copies may take.
    pub limit: u64,
    /// Agents whose sessions are not kept.
    pub off: Vec<Provider>,
    pub when_deleted: WhenDeleted,
}

/// What happens to the copy of a session that was deleted, not by its agent's own schedule.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WhenDeleted {
    /// The list offers to delete the copy too.
    #[default]
    Ask,
    Keep,
    /// It is deleted after seven days.
    Forget,
}

impl Default for KeepSettings {
    fn default() -> Self {
        Self { on: None, limit: LIMIT, off: Vec::new(), when_deleted: WhenDeleted::default() }
    }
}

impl KeepSettings {
    /// Reads the stored settings. Blocks.
    pub fn stored(settings: &dyn SettingsStore) -> Result<Self, SettingsError> {
        let read = |value| serde_json::from_value(value).map_err(|error| SettingsError(error.to_string()));
        Ok(settings.get(KEEP_SETTINGS)?.map(read).transpose()?.unwrap_or_default())
    }

    /// Stores the settings. Blocks.
    pub fn store(&self, settings: &dyn SettingsStore) -> Result<(), SettingsError> {
        let value = serde_json::to_value(self).map_err(|error| SettingsError(error.to_string()))?;
        settings.set(KEEP_SETTINGS, value)
    }

    /// Returns whether the sessions of an agent are kept.
    pub fn keeps(&self, provider: Provider) -> bool {
        self.on == Some(true) && !self.off.contains(&provider)
    }
}
