//! One model in a bridge's snapshot.

use crate::output;
use anyhow::Context;
use serde_json::Value;

pub(super) fn cards(snapshot: &Value) -> &[Value] {
    output::rows(snapshot, "models")
}

pub(super) fn card(snapshot: &Value, id: &str) -> anyhow::Result<Value> {
    let found = cards(snapshot).iter().find(|card| card["id"] == id).cloned();
    found.with_context(|| format!("no such model: {id} (run `openagents models list`)"))
}

pub(super) fn name(card: &Value) -> String {
    output::said(card, "name")
}
