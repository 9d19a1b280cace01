//! The models and agents of this machine, which the bridge manages for all its clients.

use crate::{
    bridge::{Connection, reach},
    signals::Interrupts,
    surroundings,
};
use serde_json::{Value, json};
use std::{marker::PhantomData, time::Duration};
use tokio::runtime::Runtime;

/// A command that changes what the bridge manages.
pub(crate) trait Command {
    /// Prefix of the methods: `_openagents/models`.
    const METHODS: &'static str;

    /// Returns the last segment of the command's method, and its params.
    fn on_the_wire(self) -> anyhow::Result<(&'static str, Value)>;
}

pub(crate) struct Endpoint<C> {
    runtime: Runtime,
    connection: Connection,
    commands: PhantomData<C>,
}

impl<C: Command> Endpoint<C> {
    pub(crate) fn open() -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let connection = runtime.block_on(reach(&surroundings::data_folder()?))?;
        Ok(Self { runtime, connection, commands: PhantomData })
    }

    pub(crate) fn snapshot(&mut self) -> anyhow::Result<Value> {
        self.request("list", json!({}))
    }

    /// Runs a command and returns the snapshot afterwards.
    pub(crate) fn command(&mut self, command: C) -> anyhow::Result<Value> {
        let (verb, params) = command.on_the_wire()?;
        self.request(verb, params)
    }

    fn request(&mut self, verb: &str, params: Value) -> anyhow::Result<Value> {
        self.runtime.block_on(self.connection.request(&format!("{}/{verb}", C::METHODS), params))
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
