//! Commands for the models of this machine on the wire.

use crate::endpoint::Command;
use openagents_core::model::ModelCommand;
use serde_json::{Value, json};

impl Command for ModelCommand {
    const METHODS: &'static str = "_openagents/models";

    fn on_the_wire(self) -> anyhow::Result<(&'static str, Value)> {
        Ok(match self {
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
