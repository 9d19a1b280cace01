//! The models, through the bridge that runs or in this process. Both give the same snapshots.

use crate::{bridge::Connection, signals::Interrupts, surroundings};
use anyhow::Context;
use openagents_core::{
    folders::models_folder,
    model::{LocalModels, ModelCommand},
};
use openagents_llama::{Local, LocalConfig, client::Helper};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use tokio::runtime::Runtime;

pub(super) struct Door {
    runtime: Runtime,
    models: Models,
}

enum Models {
    Here(Arc<dyn LocalModels>),
    Bridge(Box<Connection>),
}

impl Door {
    pub(super) fn open() -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let home = surroundings::data_folder()?;
        let models = match openagents_bridge::running(&home) {
            Some(address) => {
                let connected = runtime.block_on(Connection::open(address, &home));
                Models::Bridge(Box::new(
                    connected.with_context(|| format!("the bridge at http://{address}"))?,
                ))
            }
            None => Models::Here(here()?),
        };
        Ok(Self { runtime, models })
    }

    pub(super) fn snapshot(&mut self) -> anyhow::Result<Value> {
        match &mut self.models {
            Models::Here(models) => Ok(serde_json::to_value(models.snapshot())?),
            Models::Bridge(connection) => {
                self.runtime.block_on(connection.request("_openagents/models/list", json!({})))
            }
        }
    }

    /// Does something and returns the snapshot afterwards.
    pub(super) fn command(&mut self, command: ModelCommand) -> anyhow::Result<Value> {
        match &mut self.models {
            Models::Here(models) => {
                models.command(command)?;
                self.snapshot()
            }
            Models::Bridge(connection) => {
                let (verb, params) = on_the_wire(command)?;
                self.runtime.block_on(connection.request(&format!("_openagents/models/{verb}"), params))
            }
        }
    }

    /// Stops a download for now, if it goes on; returns the card afterwards.
    pub(super) fn pause(&mut self, id: &str) -> anyhow::Result<Value> {
        let card = super::card(&self.snapshot()?, id)?;
        match card["status"]["state"].as_str() {
            Some("downloading" | "verifying") => {
                super::card(&self.command(ModelCommand::Pause { id: id.to_owned() })?, id)
            }
            _ => Ok(card),
        }
    }

    /// Waits, and returns whether a person has pressed Ctrl-C meanwhile.
    pub(super) fn wait(&self, signals: &mut Interrupts, time: Duration) -> bool {
        self.runtime.block_on(async {
            tokio::select! {
                () = signals.next() => true,
                () = tokio::time::sleep(time) => false,
            }
        })
    }

    /// Hears Ctrl-C from now on.
    pub(super) fn signals(&self) -> anyhow::Result<Interrupts> {
        let _entered = self.runtime.enter();
        Ok(Interrupts::listen()?)
    }

    /// Ends what this process did itself.
    pub(super) fn close(self) {
        if let Models::Here(models) = self.models {
            models.shut_down();
        }
    }
}

fn here() -> anyhow::Result<Arc<dyn LocalModels>> {
    let folder = models_folder().context("there is no home folder for models; set OPENAGENTS_HOME")?;
    let mut config = LocalConfig::new(folder, surroundings::settings(), Arc::new(Helper::new()));
    config.preload = false;
    Ok(Local::start(config))
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
