//! Persistent settings: custom agents and choices.
//!
//! Several programs share the settings, so each change starts from the current state.

use openagents_core::{
    agent::{AGENT_SETTINGS, AgentSettings, AgentsError, CustomAgent},
    model::{SettingsError, SettingsStore},
};
use serde_json::Value;

/// The known settings, and unknown entries under the same key.
#[derive(Debug, Default)]
pub(crate) struct Saved {
    pub(crate) settings: AgentSettings,
    /// Agents added by another version, kept unchanged.
    unknown: Vec<Value>,
}

impl Saved {
    /// Reads the settings. Invalid entries are skipped: a damaged setting must not prevent startup.
    pub(crate) fn read(store: &dyn SettingsStore) -> Result<Self, SettingsError> {
        Ok(store.get(AGENT_SETTINGS)?.map(Self::from_value).unwrap_or_default())
    }

    /// Applies one change to the current settings and returns once it is on disk.
    pub(crate) fn change(
        store: &dyn SettingsStore,
        change: impl FnOnce(&mut AgentSettings) -> Result<(), AgentsError>,
    ) -> Result<AgentSettings, AgentsError> {
        let mut saved = Self::read(store)?;
        change(&mut saved.settings)?;
        store.set(AGENT_SETTINGS, saved.to_value()?)?;
        Ok(saved.settings)
    }

    fn from_value(mut value: Value) -> Self {
        let entries = match value.get_mut("custom").map(Value::take) {
            Some(Value::Array(entries)) => entries,
            _ => Vec::new(),
        };
        if let Value::Object(fields) = &mut value {
            fields.remove("custom");
        }
        let settings = serde_json::from_value(value).unwrap_or_else(|error| {
            tracing::warn!("skipped the saved agent settings: {error}");
            AgentSettings::default()
        });
        let mut saved = Self { settings, unknown: Vec::new() };
        for entry in entries {
            match serde_json::from_value::<CustomAgent>(entry.clone()) {
                Ok(agent) => saved.settings.custom.push(agent),
                Err(error) => {
                    tracing::warn!("skipped a saved agent: {error}");
                    saved.unknown.push(entry);
                }
            }
        }
        saved
    }

    fn to_value(&self) -> Result<Value, SettingsError> {
        let failed = |error: serde_json::Error| SettingsError(format!("{AGENT_SETTINGS}: {error}"));
        let mut value = serde_json::to_value(&self.settings).map_err(failed)?;
        if let Some(Value::Array(custom)) = value.get_mut("custom") {
            custom.extend(self.unknown.iter().cloned());
        }
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Settings;
    use serde_json::json;

    #[test]
    fn agents_of_another_version_are_kept() {
        let from_the_future = json!({"id": "new", "kind": "telepathy"});
        let ours = json!({"id": "mine", "name": null, "kind": "acp", "command": "agent", "args": [], "env": {}, "cwd": null});
        let store =
            Settings::with(AGENT_SETTINGS, json!({"choose": false, "custom": [from_the_future, ours]}));
        let settings = Saved::change(&store, |settings| {
            settings.allow_external_llms = true;
            Ok(())
        });
        let settings = settings.unwrap();
        assert!(!settings.choose && settings.allow_external_llms);
        assert_eq!(settings.custom.len(), 1);
        let kept = store.get(AGENT_SETTINGS).unwrap().unwrap();
        assert_eq!(kept["custom"], json!([ours, from_the_future]));
        assert_eq!((&kept["choose"], &kept["allowExternalLlms"]), (&json!(false), &json!(true)));
    }

    #[test]
    fn damaged_settings_are_the_defaults() {
        for damaged in [json!(7), json!("x"), json!({"choose": 3}), json!({"custom": 3}), json!([])] {
            let store = Settings::with(AGENT_SETTINGS, damaged.clone());
            assert_eq!(Saved::read(&store).unwrap().settings, AgentSettings::default(), "{damaged}");
        }
    }
}
