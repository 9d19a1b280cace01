//! The models, agents and trusted folders of this machine, which the bridge manages for all its clients.

use crate::{
    bridge::{Connection, reach},
    signals::Interrupts,
    surroundings,
};
use anyhow::Context;
use serde::Serialize;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::runtime::Runtime;

/// Prefixes of the methods.
pub(crate) const MODELS: &str = "_openagents/models";
pub(crate) const AGENTS: &str = "_openagents/agents";
pub(crate) const PRIVACY: &str = "_openagents/privacy";
pub(crate) const TRUST: &str = "_openagents/trust";

pub(crate) struct Endpoint {
    runtime: Runtime,
    connection: Connection,
    methods: &'static str,
}

impl Endpoint {
    /// Connects for the methods with the prefix `methods`.
    pub(crate) fn open(methods: &'static str) -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let connection = runtime.block_on(reach(&surroundings::data_folder()?))?;
        Ok(Self { runtime, connection, methods })
    }

    /// Uses the connection for methods with another prefix.
    pub(crate) fn methods(self, methods: &'static str) -> Self {
        Self { methods, ..self }
    }

    pub(crate) fn snapshot(&mut self) -> anyhow::Result<Value> {
        self.request("list", json!({}))
    }

    /// Runs a command and returns the snapshot afterwards. On the wire, the command's variant is the last segment of
    /// the method and its fields are the params.
    pub(crate) fn command(&mut self, command: impl Serialize) -> anyhow::Result<Value> {
        let (verb, params) = match serde_json::to_value(command)? {
            Value::Object(command) => command.into_iter().next().context("a command has one variant")?,
            verb => (verb.as_str().unwrap_or_default().to_owned(), json!({})),
        };
        self.request(&verb, params)
    }

    pub(crate) fn request(&mut self, verb: &str, params: Value) -> anyhow::Result<Value> {
        self.runtime.block_on(self.connection.request(&format!("{}/{verb}", self.methods), params))
    }

    /// Waits, and returns whether Ctrl-C was pressed.
    pub(crate) fn wait(&self, signals: &mut Interrupts, time: Duration) -> bool {
        self.runtime.block_on(async {
            tokio::select! {
                () = signals.next() => true,
                () = tokio::time::sleep(time) => false,
            }
        })
    }

    /// Listens for Ctrl-C from now on.
    pub(crate) fn signals(&self) -> anyhow::Result<Interrupts> {
        let _entered = self.runtime.enter();
        Ok(Interrupts::listen()?)
    }
}
