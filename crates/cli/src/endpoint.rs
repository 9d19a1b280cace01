//! Access to managed state through the running bridge or in this process. Both return the same snapshots.

use crate::{bridge::Connection, signals::Interrupts, surroundings};
use anyhow::Context;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::runtime::Runtime;

/// State that a bridge manages for its clients and a command can manage by itself.
pub(crate) trait Managed {
    /// A command that changes the state.
    type Command;

    /// Prefix of the methods: `_openagents/models`.
    const METHODS: &'static str;

    /// Starts managing the state in this process.
    fn here() -> anyhow::Result<Self>
    where
        Self: Sized;

    fn snapshot(&self) -> serde_json::Result<Value>;

    fn command(&self, command: Self::Command) -> anyhow::Result<()>;

    /// Stops what this process started.
    fn shut_down(&self);

    /// Returns the last segment of the command's method, and its params.
    fn on_the_wire(command: Self::Command) -> anyhow::Result<(&'static str, Value)>;
}

pub(crate) struct Endpoint<M> {
    runtime: Runtime,
    managed: Reached<M>,
}

enum Reached<M> {
    Here(M),
    Bridge(Box<Connection>),
}

impl<M: Managed> Endpoint<M> {
    pub(crate) fn open() -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let home = surroundings::data_folder()?;
        let managed = match openagents_bridge::running(&home) {
            Some(address) => {
                let connected = runtime.block_on(Connection::open(address, &home));
                Reached::Bridge(Box::new(
                    connected.with_context(|| format!("the bridge at http://{address}"))?,
                ))
            }
            None => Reached::Here(M::here()?),
        };
        Ok(Self { runtime, managed })
    }

    pub(crate) fn snapshot(&mut self) -> anyhow::Result<Value> {
        match &mut self.managed {
            Reached::Here(managed) => Ok(managed.snapshot()?),
            Reached::Bridge(connection) => {
                self.runtime.block_on(connection.request(&format!("{}/list", M::METHODS), json!({})))
            }
        }
    }

    /// Runs a command and returns the snapshot afterwards.
    pub(crate) fn command(&mut self, command: M::Command) -> anyhow::Result<Value> {
        match &mut self.managed {
            Reached::Here(managed) => {
                managed.command(command)?;
                self.snapshot()
            }
            Reached::Bridge(connection) => {
                let (verb, params) = M::on_the_wire(command)?;
                self.runtime.block_on(connection.request(&format!("{}/{verb}", M::METHODS), params))
            }
        }
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

    /// Stops what this process started.
    pub(crate) fn close(self) {
        if let Reached::Here(managed) = self.managed {
            managed.shut_down();
        }
    }
}
