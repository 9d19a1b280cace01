//! The models of this machine, for commands that manage them.

use crate::{endpoint::Managed, surroundings};
use anyhow::Context;
use openagents_core::{
    folders::models_folder,
    model::{LocalModels, ModelCommand},
};
use openagents_llama::{Local, LocalConfig, client::Helper};
use serde_json::{Value, json};
use std::sync::Arc;

pub(super) struct Models(Arc<dyn LocalModels>);

impl Managed for Models {
    type Command = ModelCommand;

    const METHODS: &'static str = "_openagents/models";

    fn here() -> anyhow::Result<Self> {
        let folder = models_folder().context("there is no home folder for models; set OPENAGENTS_HOME")?;
        let mut config = LocalConfig::new(folder, surroundings::settings(), Arc::new(Helper::new()));
        config.preload = false;
        Ok(Self(Local::start(config)))
    }

    fn snapshot(&self) -> serde_json::Result<Value> {
        serde_json::to_value(self.0.snapshot())
    }

    fn command(&self, command: ModelCommand) -> anyhow::Result<()> {
        Ok(self.0.command(command)?)
    }

    fn shut_down(&self) {
        self.0.shut_down();
    }

    fn on_the_wire(command: ModelCommand) -> anyhow::Result<(&'static str, Value)> {
        Ok(match command {
            ModelCommand::Download { id, accept_licence } => {
                ("download", json!({"id": id, "acceptLicence": accept_licence}))
            }
            ModelCommand::Pause { id } => ("pause", json!({"id": id})),
            ModelCommand::CancelDownload { id } => ("cancel", json!({"id": id})),
            ModelCommand::Verify { id } => ("verify", json!({"id": id})),
            ModelCommand::Repair { id } => ("repair", json!({"id": id})),
            ModelCommand::Remove { id } => ("remove", json!({"id": id})),
            ModelCommand::Add { path } => {
                let shown = path.display().to_string();
                let path = path.into_os_string().into_string();
                (
                    "add",
                    json!({"path": path.map_err(|_| anyhow::anyhow!("{shown}: give the file a name in UTF-8 first"))?}),
                )
            }
            ModelCommand::Use { id } => ("use", json!({"id": id})),
            ModelCommand::Load => ("load", json!({})),
            ModelCommand::Unload => ("unload", json!({})),
            ModelCommand::Configure(change) => ("configure", json!({"settings": change})),
        })
    }
}
