//! Settings of the local model. Stored in the database and shared by all clients.

use super::request::{ModelOptions, ReasoningEffort};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use std::path::PathBuf;
use ts_rs::TS;

/// The key of [`ModelSettings`] among the settings.
pub const MODEL_SETTINGS: &str = "local_model";

/// Selectable idle times in minutes; 0 for never.
pub const IDLE_MINUTES: [u32; 5] = [0, 5, 10, 30, 60];

/// Stores settings: one JSON value per key. Blocks.
pub trait SettingsStore: Send + Sync + std::fmt::Debug {
    /// Returns a setting, if it was ever set.
    fn get(&self, key: &str) -> Result<Option<Value>, SettingsError>;

    /// Stores a setting; returns once it is on disk.
    fn set(&self, key: &str, value: Value) -> Result<(), SettingsError>;
}

/// Reading or writing the settings failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the settings cannot be saved: {0}")]
pub struct SettingsError(pub String);

/// Settings of the local model. Every version ignores unknown fields and uses defaults for missing ones.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(default, rename_all = "camelCase")]
pub struct ModelSettings {
    /// 0.0 to 2.0.
    pub temperature: f32,
    /// 0.0 to 1.0.
    pub top_p: f32,
    /// `None` for no limit.
    pub max_tokens: Option<u32>,
    pub effort: ReasoningEffort,
    /// Minutes without a request before unloading; one of [`IDLE_MINUTES`], 0 for never.
    pub idle_minutes: u32,
    /// Load on program start.
    pub preload: bool,
    /// Id of the model in use: see [`ModelCard::id`](super::ModelCard::id). `None` for gpt-oss-20b.
    pub model: Option<String>,
    pub accepted_licences: Vec<String>,
}

/// A change of some [`ModelSettings`]; absent fields stay unchanged, so that concurrent clients do not overwrite each
/// other. The model in use and the licences have separate commands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(default, rename_all = "camelCase")]
pub struct SettingsChange {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f32>,
    /// `null` in JSON removes the limit.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[ts(optional, type = "null | number")]
    pub max_tokens: Option<Option<u32>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<ReasoningEffort>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_minutes: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preload: Option<bool>,
}

/// Deserializes a present field, even if it is `null`.
fn given<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Option<u32>>, D::Error> {
    Deserialize::deserialize(value).map(Some)
}

impl Default for ModelSettings {
    fn default() -> Self {
        let options = ModelOptions::default();
        Self {
            temperature: options.temperature,
            top_p: options.top_p,
            max_tokens: options.max_tokens,
            effort: options.effort,
            idle_minutes: 10,
            preload: false,
            model: None,
            accepted_licences: Vec::new(),
        }
    }
}

impl ModelSettings {
    pub fn options(&self) -> ModelOptions {
        ModelOptions {
            temperature: self.temperature,
            top_p: self.top_p,
            max_tokens: self.max_tokens,
            effort: self.effort,
            seed: None,
        }
    }

    /// Applies a change. Fails like [`ModelSettings::check`] without changing anything.
    pub fn change(&mut self, change: &SettingsChange) -> Result<(), String> {
        let changed = Self {
            temperature: change.temperature.unwrap_or(self.temperature),
            top_p: change.top_p.unwrap_or(self.top_p),
            max_tokens: change.max_tokens.unwrap_or(self.max_tokens),
            effort: change.effort.unwrap_or(self.effort),
            idle_minutes: change.idle_minutes.unwrap_or(self.idle_minutes),
            preload: change.preload.unwrap_or(self.preload),
            ..self.clone()
        };
        changed.check()?;
        *self = changed;
        Ok(())
    }

    /// Fails with one sentence that names the field if a value is out of range.
    pub fn check(&self) -> Result<(), String> {
        if !(0.0..=2.0).contains(&self.temperature) {
            return Err(format!("temperature is {}; it goes from 0 to 2", self.temperature));
        }
        if !(0.0..=1.0).contains(&self.top_p) {
            return Err(format!("top-p is {}; it goes from 0 to 1", self.top_p));
        }
        if self.max_tokens == Some(0) {
            return Err("max tokens is 0; leave it empty for no limit".to_owned());
        }
        if !IDLE_MINUTES.contains(&self.idle_minutes) {
            return Err(format!("idle minutes is {}; choose 0 (never), 5, 10, 30 or 60", self.idle_minutes));
        }
        Ok(())
    }
}

/// Options of a single prompt. Absent fields follow the settings.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct PromptOptions {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<NamedModel>,
    /// Sampling temperature, 0.0 to 2.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f32>,
    /// Maximum number of tokens of an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// The prompt is a question, however it is worded: it gets findings and never goes to an agent.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub question: bool,
}

/// A model that is not in the settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum NamedModel {
    /// A GGUF file, absolute.
    File(PathBuf),
    /// A model at an OpenAI-compatible address.
    Server {
        name: String,
        /// The base URL, or the short name of a known server; defaults to OpenAI's.
        #[serde(skip_serializing_if = "Option::is_none")]
        base_url: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        key_variable: Option<String>,
    },
}

impl PromptOptions {
    /// Fails with one sentence that names the field if a value is out of range.
    pub fn check(&self) -> Result<(), String> {
        let settings = ModelSettings::default();
        let options = self.applied_to(settings.options());
        ModelSettings { temperature: options.temperature, max_tokens: options.max_tokens, ..settings }.check()
    }

    /// Returns `settings` overridden by the options of this prompt.
    pub fn applied_to(&self, settings: ModelOptions) -> ModelOptions {
        ModelOptions {
            temperature: self.temperature.unwrap_or(settings.temperature),
            max_tokens: self.max_tokens.or(settings.max_tokens),
            ..settings
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_other_versions_parse() {
        let read: ModelSettings = serde_json::from_str(r#"{"temperature":0.2,"fromTheFuture":[1]}"#).unwrap();
        assert_eq!(read, ModelSettings { temperature: 0.2, ..ModelSettings::default() });
    }

    #[test]
    fn change_keeps_absent_fields() {
        let mut settings = ModelSettings { max_tokens: Some(9), preload: true, ..ModelSettings::default() };
        let rows = [
            (r#"{"temperature":0.2,"model":"x"}"#, (0.2, Some(9), None)),
            (r#"{"maxTokens":null}"#, (0.2, None, None)),
            (r#"{"maxTokens":4}"#, (0.2, Some(4), None)),
        ];
        for (json, expected) in rows {
            settings.change(&serde_json::from_str(json).unwrap()).unwrap();
            assert_eq!(
                (settings.temperature, settings.max_tokens, settings.model.clone()),
                expected,
                "{json}"
            );
            assert!(settings.preload);
        }
        let wrong = SettingsChange { top_p: Some(2.0), preload: Some(false), ..SettingsChange::default() };
        assert!(settings.change(&wrong).unwrap_err().contains("top-p"));
        assert!(settings.preload);
    }

    #[test]
    fn check_names_field_out_of_range() {
        let default = ModelSettings::default();
        assert_eq!(default.check(), Ok(()));
        let rows = [
            (ModelSettings { temperature: 2.1, ..default.clone() }, "temperature"),
            (ModelSettings { temperature: f32::NAN, ..default.clone() }, "temperature"),
            (ModelSettings { top_p: -0.1, ..default.clone() }, "top-p"),
            (ModelSettings { max_tokens: Some(0), ..default.clone() }, "max tokens"),
            (ModelSettings { idle_minutes: 7, ..default }, "idle minutes"),
        ];
        for (settings, field) in rows {
            assert!(settings.check().unwrap_err().contains(field), "{field}");
        }
    }

    #[test]
    fn prompt_options_override_settings() {
        let settings = ModelOptions { max_tokens: Some(9), ..ModelOptions::default() };
        let given = PromptOptions { temperature: Some(0.0), ..PromptOptions::default() };
        assert_eq!(given.applied_to(settings), ModelOptions { temperature: 0.0, ..settings });
        let given = PromptOptions { max_tokens: Some(5), ..PromptOptions::default() };
        assert_eq!(given.applied_to(settings), ModelOptions { max_tokens: Some(5), ..settings });
    }

    #[test]
    fn prompt_options_parse_and_check_range() {
        let rows = [
            ("{}", Ok(())),
            (r#"{"temperature":0,"maxTokens":200}"#, Ok(())),
            (r#"{"model":{"file":"/models/a.gguf"}}"#, Ok(())),
            (
                r#"{"model":{"server":{"name":"m","baseUrl":"ollama","keyVariable":"KEY"}},"question":true}"#,
                Ok(()),
            ),
            (r#"{"temperature":3}"#, Err("temperature")),
            (r#"{"maxTokens":0}"#, Err("max tokens")),
        ];
        for (json, expected) in rows {
            let options: PromptOptions = serde_json::from_str(json).unwrap();
            match (options.check(), expected) {
                (Ok(()), Ok(())) => {}
                (Err(reason), Err(field)) => assert!(reason.contains(field), "{json}: {reason}"),
                (checked, _) => panic!("{json}: {checked:?}"),
            }
            let again = serde_json::to_value(&options).unwrap();
            assert_eq!(serde_json::from_value::<PromptOptions>(again).unwrap(), options, "{json}");
        }
        assert!(serde_json::from_str::<PromptOptions>(r#"{"temperatur":0}"#).is_err());
    }
}
