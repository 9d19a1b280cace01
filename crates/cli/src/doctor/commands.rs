//! Commands for the agents of this machine on the wire.

use crate::endpoint::Command;
use openagents_core::agent::AgentCommand;
use serde_json::{Value, json};

impl Command for AgentCommand {
    const METHODS: &'static str = "_openagents/agents";

    fn on_the_wire(self) -> anyhow::Result<(&'static str, Value)> {
        Ok(match self {
            AgentCommand::Check => ("check", json!({})),
            AgentCommand::Add(agent) => ("add", json!({"agent": agent})),
            AgentCommand::Remove { id } => ("remove", json!({"id": id})),
            AgentCommand::Configure(change) => ("configure", json!({"settings": change})),
        })
    }
}
