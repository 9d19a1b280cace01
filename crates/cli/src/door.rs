//! What a person manages on this machine, through the bridge that runs or in this process. Both give the same snapshots.

use crate::{bridge::Connection, signals::Interrupts, surroundings};
use anyhow::Context;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::runtime::Runtime;

/// Something that a bridge manages for its clients, and a command can manage by itself.
pub(crate) trait Managed {
    /// What a person can ask for.
    type Command;

    /// What its methods begin with: `_openagents/models`.
    const METHODS: &'static str;

    /// Begins to manage it in this process.
    fn here() -> anyhow::Result<Self>
    where
        Self: Sized;

    fn snapshot(&self) -> serde_json::Result<Value>;

    fn command(&self, command: Self::Command) -> anyhow::Result<()>;

    /// Ends what this process started itself.
    fn shut_down(&self);

    /// Returns the last word of the method that a command goes by, and its params.
    fn on_the_wire(command: Self::Command) -> anyhow::Result<(&'static str, Value)>;
}

pub(crate) struct Door<M> {
    runtime: Runtime,
    managed: Reached<M>,
}

enum Reached<M> {
    Here(M),
    Bridge(Box<Connection>),
}

impl<M: Managed> Door<M> {
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

    /// Does something and returns the snapshot afterwards.
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

    /// Waits, and returns whether a person has pressed Ctrl-C meanwhile.
    pub(crate) fn wait(&self, signals: &mut Interrupts, time: Duration) -> bool {
        self.runtime.block_on(async {
            tokio::select! {
                () = signals.next() => true,
                () = tokio::time::sleep(time) => false,
            }
        })
    }

    /// Hears Ctrl-C from now on.
    pub(crate) fn signals(&self) -> anyhow::Result<Interrupts> {
        let _entered = self.runtime.enter();
        Ok(Interrupts::listen()?)
    }

    /// Ends what this process started itself.
    pub(crate) fn close(self) {
        if let Reached::Here(managed) = self.managed {
            managed.shut_down();
        }
    }
}
