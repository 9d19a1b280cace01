//! Client for the devices of the running bridge. Access can be granted only while a bridge runs.

use crate::{bridge::Connection, surroundings};
use anyhow::Context;
use serde_json::{Value, json};
use std::{net::SocketAddr, path::Path};

pub(crate) struct DevicesClient(Connection);

impl DevicesClient {
    /// Connects to the bridge of our data folder; `None` if none is running.
    pub(crate) async fn open() -> anyhow::Result<Option<Self>> {
        let home = surroundings::data_folder()?;
        let Some(address) = openagents_bridge::running(&home) else { return Ok(None) };
        let client =
            Self::at(address, &home).await.with_context(|| format!("the bridge at http://{address}"))?;
        Ok(Some(client))
    }

    pub(crate) async fn at(address: SocketAddr, home: &Path) -> anyhow::Result<Self> {
        Ok(Self(Connection::open(address, home).await?))
    }

    /// Returns the current devices.
    pub(crate) async fn snapshot(&mut self) -> anyhow::Result<Value> {
        self.call("list", json!({})).await
    }

    /// Like [`DevicesClient::snapshot`], and subscribes [`DevicesClient::changed`] to all further changes.
    pub(crate) async fn watch(&mut self) -> anyhow::Result<Value> {
        self.call("list", json!({"watch": true})).await
    }

    /// Runs a command and returns the bridge's result, usually the devices afterwards.
    pub(crate) async fn call(&mut self, verb: &str, params: Value) -> anyhow::Result<Value> {
        self.0.request(&format!("_openagents/devices/{verb}"), params).await
    }

    /// Waits for a change and returns the devices. Cancel safe.
    pub(crate) async fn changed(&mut self) -> anyhow::Result<Value> {
        loop {
            let mut message = self.0.next().await?;
            if message["method"] == "_openagents/devices" {
                return Ok(message["params"].take());
            }
        }
    }
}

/// Returns the error for commands that need a running bridge.
pub(crate) fn nothing_runs() -> anyhow::Error {
    anyhow::anyhow!("OpenAgents is not running here; start the app, or `openagents serve --lan`")
}
