//! The models, agents and trusted folders of this machine, which the bridge manages for all its clients.

use crate::{bridge::reach, signals::Interrupts, surroundings};
use openagents_bridge::client::Client;
use openagents_wire::{Command, Method, Watch};
use std::time::Duration;
use tokio::runtime::Runtime;

pub(crate) struct Endpoint {
    runtime: Runtime,
    client: Client,
}

impl Endpoint {
    pub(crate) fn open() -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let client = runtime.block_on(reach(&surroundings::data_folder()?))?;
        Ok(Self { runtime, client })
    }

    pub(crate) fn call<M: Method>(&mut self, params: M::Params) -> anyhow::Result<M::Answer> {
        Ok(self.runtime.block_on(self.client.call::<M>(params))?)
    }

    pub(crate) fn list<M: Method<Params = Watch>>(&mut self) -> anyhow::Result<M::Answer> {
        self.call::<M>(Watch::default())
    }

    /// Runs a command and returns the state afterwards.
    pub(crate) fn command<C: Command>(&mut self, command: &C) -> anyhow::Result<C::Answer> {
        Ok(self.runtime.block_on(self.client.command(command))?)
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
