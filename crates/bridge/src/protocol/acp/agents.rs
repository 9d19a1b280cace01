//! `_openagents/agents/*`: managing the agents on this machine.

use crate::base::error::Fault;
use crate::protocol::acp::from_wire::{Call, read};
use openagents_core::agent::{AgentCommand, AgentSettingsChange, CustomAgent};
use serde::Deserialize;
use serde_json::Value;

/// Prefix of these methods.
pub(super) const PREFIX: &str = "_openagents/agents/";

/// Params of `_openagents/agents/list`.
#[derive(Debug, Deserialize)]
pub(crate) struct List {
    /// Notify about changes from now on.
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

/// Parses the call named by the part of a method after [`PREFIX`].
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
