//! Options of a single prompt, which override the settings.

use super::{request::ModelOptions, settings::ModelSettings};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Options of a single prompt. Absent fields follow the settings.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct PromptOptions {
    /// The model that answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<NamedModel>,
    /// Sampling temperature, 0.0 to 2.0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f32>,
    /// Maximum number of tokens of an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// The prompt is a question, however it is worded: it gets findings and never goes to an agent.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub question: bool,
}

/// A model that is not in the settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum NamedModel {
    /// A GGUF file, absolute.
    File(PathBuf),
    /// A model at an OpenAI-compatible address.
    Server {
        /// Its name on the server.
        name: String,
        /// The base URL, or the short name of a known server; defaults to OpenAI's.
        #[serde(skip_serializing_if = "Option::is_none")]
        base_url: Option<String>,
        /// The environment variable that holds the key.
        #[serde(skip_serializing_if = "Option::is_none")]
        key_variable: Option<String>,
    },
}

impl PromptOptions {
    /// Fails with one sentence that names the field if a value is out of range.
    pub fn check(&self) -> Result<(), String> {
        let settings = ModelSettings::default();
        let options = self.over(settings.options());
        ModelSettings { temperature: options.temperature, max_tokens: options.max_tokens, ..settings }.check()
    }

    /// Returns `settings` overridden by the options of this prompt.
    pub fn over(&self, settings: ModelOptions) -> ModelOptions {
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
    fn what_is_given_goes_before_the_settings() {
        let settings = ModelOptions { max_tokens: Some(9), ..ModelOptions::default() };
        let given = PromptOptions { temperature: Some(0.0), ..PromptOptions::default() };
        assert_eq!(given.over(settings), ModelOptions { temperature: 0.0, ..settings });
        let given = PromptOptions { max_tokens: Some(5), ..PromptOptions::default() };
        assert_eq!(given.over(settings), ModelOptions { max_tokens: Some(5), ..settings });
    }

    #[test]
    fn options_have_a_wire_form_and_a_range() {
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
