//! `_openagents/agents/*`: what a person can do with the agents of this machine.

use super::from_wire::{Call, read};
use crate::error::Fault;
use openagents_core::agent::{AgentCommand, AgentSettingsChange, CustomAgent};
use serde::Deserialize;
use serde_json::Value;

/// What these methods begin with.
pub(super) const PREFIX: &str = "_openagents/agents/";

/// Params of `_openagents/agents/list`.
#[derive(Debug, Deserialize)]
pub(crate) struct List {
    /// Tell every change from now on.
    #[serde(default)]
    pub(crate) watch: bool,
}

#[derive(Deserialize)]
struct Named {
    id: String,
}

#[derive(Deserialize)]
struct Add {
    agent: CustomAgent,
}

#[derive(Deserialize)]
struct Configure {
    settings: AgentSettingsChange,
}

/// Reads the call that the last word of a method stands for.
pub(super) fn call(verb: &str, params: Value) -> Result<Call, Fault> {
    Ok(match verb {
        "list" => Call::Agents(read(params)?),
        "decisions" => Call::Decisions,
        "check" => Call::Agent(AgentCommand::Check),
        "add" => Call::Agent(AgentCommand::Add(read::<Add>(params)?.agent)),
        "remove" => Call::Agent(AgentCommand::Remove { id: read::<Named>(params)?.id }),
        "configure" => Call::Agent(AgentCommand::Configure(read::<Configure>(params)?.settings)),
        _ => return Err(Fault::method_not_found(&format!("{PREFIX}{verb}"))),
    })
}
