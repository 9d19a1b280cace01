//! The agents, through the bridge that runs or in this process. Both give the same snapshots.

use crate::{bridge::Connection, signals::Interrupts, surroundings};
use anyhow::Context;
use openagents_agents::{AgentsConfig, LocalAgents};
use openagents_core::agent::{AgentCommand, Agents};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use tokio::runtime::Runtime;

pub(super) struct Door {
    runtime: Runtime,
    agents: Reached,
}

enum Reached {
    Here(Arc<dyn Agents>),
    Bridge(Box<Connection>),
}

impl Door {
    pub(super) fn open() -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let home = surroundings::data_folder()?;
        let agents = match openagents_bridge::running(&home) {
            Some(address) => {
                let connected = runtime.block_on(Connection::open(address, &home));
                Reached::Bridge(Box::new(
                    connected.with_context(|| format!("the bridge at http://{address}"))?,
                ))
            }
            None => {
                let (settings, history) = (surroundings::settings(), Arc::new(surroundings::history()));
                Reached::Here(LocalAgents::start(AgentsConfig { settings, history }))
            }
        };
        Ok(Self { runtime, agents })
    }

    pub(super) fn snapshot(&mut self) -> anyhow::Result<Value> {
        match &mut self.agents {
            Reached::Here(agents) => Ok(serde_json::to_value(agents.snapshot())?),
            Reached::Bridge(connection) => {
                self.runtime.block_on(connection.request("_openagents/agents/list", json!({})))
            }
        }
    }

    /// Does something and returns the snapshot afterwards.
    pub(super) fn command(&mut self, command: AgentCommand) -> anyhow::Result<Value> {
        match &mut self.agents {
            Reached::Here(agents) => {
                agents.command(command)?;
                self.snapshot()
            }
            Reached::Bridge(connection) => {
                let (verb, params) = match command {
                    AgentCommand::Check => ("check", json!({})),
                    AgentCommand::Add(agent) => ("add", json!({"agent": agent})),
                    AgentCommand::Remove { id } => ("remove", json!({"id": id})),
                    AgentCommand::Configure(change) => ("configure", json!({"settings": change})),
                };
                self.runtime.block_on(connection.request(&format!("_openagents/agents/{verb}"), params))
            }
        }
    }

    /// Waits, and returns whether a person has pressed Ctrl-C meanwhile.
    pub(super) fn wait(&self, signals: &mut Interrupts, time: Duration) -> bool {
        self.runtime.block_on(async {
            tokio::select! {
                () = signals.next() => true,
                () = tokio::time::sleep(time) => false,
            }
        })
    }

    /// Hears Ctrl-C from now on.
    pub(super) fn signals(&self) -> anyhow::Result<Interrupts> {
        let _entered = self.runtime.enter();
        Ok(Interrupts::listen()?)
    }

    /// Ends what this process started itself.
    pub(super) fn close(self) {
        if let Reached::Here(agents) = self.agents {
            agents.shut_down();
        }
    }
}
