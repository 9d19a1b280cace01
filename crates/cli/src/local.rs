//! The models of this machine, for all commands.

use anyhow::Context;
use openagents_core::{
    folders::models_folder,
    model::{SettingsError, SettingsStore},
};
use openagents_llama::{Local, LocalConfig, client::Helper};
use serde_json::Value;
use std::sync::Arc;

/// Returns the models of this machine. With `preload`, the one in use is loaded at once if the settings say so.
pub(crate) fn start(settings: Arc<dyn SettingsStore>, preload: bool) -> anyhow::Result<Arc<Local>> {
    let folder = models_folder().context("there is no home folder for models; set OPENAGENTS_HOME")?;
    let mut config = LocalConfig::new(folder, settings, Arc::new(Helper::new()));
    config.preload = preload;
    Ok(Local::start(config))
}

/// In-memory defaults, used when the database cannot be opened.
#[derive(Debug)]
pub(crate) struct Unkept;

impl SettingsStore for Unkept {
    fn get(&self, _key: &str) -> Result<Option<Value>, SettingsError> {
        Ok(None)
    }

    fn set(&self, _key: &str, _value: Value) -> Result<(), SettingsError> {
        Err(SettingsError("the data folder cannot be used".to_owned()))
    }
}
