//! `_openagents/models/*`: managing the local models.

use crate::base::error::Fault;
use crate::protocol::acp::from_wire::{Call, read};
use openagents_core::model::{ModelCommand, SettingsChange};
use serde::Deserialize;
use serde_json::Value;
use std::path::PathBuf;

/// Prefix of these methods.
pub(super) const PREFIX: &str = "_openagents/models/";

/// Params of `_openagents/models/list`.
#[derive(Debug, Deserialize)]
pub(crate) struct List {
    /// Notify about changes from now on.
    #[serde(default)]
    pub(crate) watch: bool,
}

#[derive(Deserialize)]
struct Named {
    id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Download {
    id: String,
    #[serde(default)]
    accept_licence: bool,
}

#[derive(Deserialize)]
struct Add {
    path: PathBuf,
}

#[derive(Deserialize)]
struct Configure {
    settings: SettingsChange,
}

/// Parses the call named by the part of a method after [`PREFIX`].
pub(super) fn call(verb: &str, params: Value) -> Result<Call, Fault> {
    if verb == "list" { read(params).map(Call::Models) } else { command(verb, params).map(Call::Model) }
}

fn command(verb: &str, params: Value) -> Result<ModelCommand, Fault> {
    let named = |params| read::<Named>(params).map(|named| named.id);
    Ok(match verb {
        "download" => {
            let Download { id, accept_licence } = read(params)?;
            ModelCommand::Download { id, accept_licence }
        }
        "pause" => ModelCommand::Pause { id: named(params)? },
        "cancel" => ModelCommand::CancelDownload { id: named(params)? },
        "verify" => ModelCommand::Verify { id: named(params)? },
        "repair" => ModelCommand::Repair { id: named(params)? },
        "remove" => ModelCommand::Remove { id: named(params)? },
        "use" => ModelCommand::Use { id: named(params)? },
        "add" => ModelCommand::Add { path: read::<Add>(params)?.path },
        "load" => ModelCommand::Load,
        "unload" => ModelCommand::Unload,
        "configure" => ModelCommand::Configure(read::<Configure>(params)?.settings),
        _ => return Err(Fault::method_not_found(&format!("{PREFIX}{verb}"))),
    })
}
