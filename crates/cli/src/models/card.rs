//! One model in the snapshot of a bridge.

use crate::{endpoint, output};
use anyhow::Context;
use openagents_core::model::ModelCommand;
use serde_json::Value;

pub(super) type ModelsEndpoint = endpoint::Endpoint<ModelCommand>;

pub(super) fn cards(snapshot: &Value) -> &[Value] {
    snapshot["models"].as_array().map(Vec::as_slice).unwrap_or_default()
}

pub(super) fn card(snapshot: &Value, id: &str) -> anyhow::Result<Value> {
    let found = cards(snapshot).iter().find(|card| card["id"] == id).cloned();
    found.with_context(|| format!("no such model: {id} (run `openagents models list`)"))
}

pub(super) fn name(card: &Value) -> String {
    output::printable(card["name"].as_str().unwrap_or_default())
}
