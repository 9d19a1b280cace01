//! The devices of the bridge that runs. Only a running one can let anybody in.

use crate::{bridge::Connection, surroundings};
use anyhow::Context;
use serde_json::{Value, json};
use std::{net::SocketAddr, path::Path};

pub(crate) struct Desk(Connection);

impl Desk {
    /// Connects to the bridge of our data folder; `None` where none is running.
    pub(crate) async fn open() -> anyhow::Result<Option<Self>> {
        let home = surroundings::data_folder()?;
        let Some(address) = openagents_bridge::running(&home) else { return Ok(None) };
        let desk =
            Self::at(address, &home).await.with_context(|| format!("the bridge at http://{address}"))?;
        Ok(Some(desk))
    }

    pub(crate) async fn at(address: SocketAddr, home: &Path) -> anyhow::Result<Self> {
        Ok(Self(Connection::open(address, home).await?))
    }

    /// Returns the devices as they are now.
    pub(crate) async fn snapshot(&mut self) -> anyhow::Result<Value> {
        self.call("list", json!({})).await
    }

    /// The same; [`Desk::changed`] hears of every change from now on.
    pub(crate) async fn watch(&mut self) -> anyhow::Result<Value> {
        self.call("list", json!({"watch": true})).await
    }

    /// Does something, and returns what the bridge answers: the devices afterwards, mostly.
    pub(crate) async fn call(&mut self, verb: &str, params: Value) -> anyhow::Result<Value> {
        self.0.request(&format!("_openagents/devices/{verb}"), params).await
    }

    /// Waits until something has changed, and returns the devices then. May be dropped and called again.
    pub(crate) async fn changed(&mut self) -> anyhow::Result<Value> {
        loop {
            let mut message = self.0.next().await?;
            if message["method"] == "_openagents/devices" {
                return Ok(message["params"].take());
            }
        }
    }
}

/// Nobody can be let in, because nobody would serve them.
pub(crate) fn nothing_runs() -> anyhow::Error {
    anyhow::anyhow!("OpenAgents is not running here; start the app, or `openagents serve --lan`")
}
