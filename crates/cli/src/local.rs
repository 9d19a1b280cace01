//! The models of this machine, for all commands.

use anyhow::Context;
use openagents_core::{
    folders::models_folder,
    model::{MODEL_SETTINGS, SettingsError, SettingsStore},
};
use openagents_llama::{Local, LocalConfig, client::Helper};
use serde_json::Value;
use std::{path::PathBuf, sync::Arc};

/// Returns the models of this machine. With `preload`, the one in use is loaded at once if the settings say so.
pub(crate) fn start(settings: Arc<dyn SettingsStore>, preload: bool) -> anyhow::Result<Arc<Local>> {
    let folder = models_folder().context("there is no home folder for models; set OPENAGENTS_HOME")?;
    let mut config = LocalConfig::new(folder, settings, Arc::new(Helper::new()));
    config.preload = preload;
    Ok(Local::start(config))
}

/// Returns the models of this machine with the model and the settings that a bridge uses.
pub(crate) fn like_the_bridge(snapshot: &Value) -> anyhow::Result<Arc<Local>> {
    let folder = models_folder().context("there is no home folder for models; set OPENAGENTS_HOME")?;
    let settings = Arc::new(ReadOnly(snapshot["settings"].clone()));
    let mut config = LocalConfig::new(folder, settings, Arc::new(Helper::new()));
    let in_use = snapshot["models"].as_array().into_iter().flatten().find(|card| card["inUse"] == true);
    config.model_file = in_use.and_then(|card| card["path"].as_str()).map(PathBuf::from);
    config.preload = false;
    Ok(Local::start(config))
}

/// The model settings of a bridge.
#[derive(Debug)]
struct ReadOnly(Value);

impl SettingsStore for ReadOnly {
    fn get(&self, key: &str) -> Result<Option<Value>, SettingsError> {
        Ok((key == MODEL_SETTINGS).then(|| self.0.clone()))
    }

    fn set(&self, _key: &str, _value: Value) -> Result<(), SettingsError> {
        Err(SettingsError("a bridge keeps them".to_owned()))
    }
}
