//! The agents of this machine, for commands that manage them.

use crate::{endpoint::Managed, surroundings};
use openagents_agents::{AgentsConfig, LocalAgents};
use openagents_core::agent::{AgentCommand, Agents};
use serde_json::{Value, json};
use std::sync::Arc;

pub(super) struct OurAgents(Arc<dyn Agents>);

impl Managed for OurAgents {
    type Command = AgentCommand;

    const METHODS: &'static str = "_openagents/agents";

    fn here() -> anyhow::Result<Self> {
        let (settings, history) = (surroundings::settings(), Arc::new(surroundings::history()));
        Ok(Self(LocalAgents::start(AgentsConfig { settings, history })))
    }

    fn snapshot(&self) -> serde_json::Result<Value> {
        serde_json::to_value(self.0.snapshot())
    }

    fn command(&self, command: AgentCommand) -> anyhow::Result<()> {
        Ok(self.0.command(command)?)
    }

    fn shut_down(&self) {
        self.0.shut_down();
    }

    fn on_the_wire(command: AgentCommand) -> anyhow::Result<(&'static str, Value)> {
        Ok(match command {
            AgentCommand::Check => ("check", json!({})),
            AgentCommand::Add(agent) => ("add", json!({"agent": agent})),
            AgentCommand::Remove { id } => ("remove", json!({"id": id})),
            AgentCommand::Configure(change) => ("configure", json!({"settings": change})),
        })
    }
}
