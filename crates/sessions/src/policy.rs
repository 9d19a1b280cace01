//! What a person allows in one session.

use serde::{Deserialize, Serialize};

/// Nothing unless a person says so. Naming or picking an agent is saying so for that prompt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Policy {
    /// Tools may use the network.
    #[serde(alias = "allowNetwork")]
    pub allow_network: bool,
    /// Agents and models off this machine may be chosen without being named.
    #[serde(alias = "allowExternalLlms")]
    pub allow_external_llms: bool,
}
