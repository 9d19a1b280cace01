//! What a person allows in one session.

use serde::{Deserialize, Serialize};

/// Nothing unless a person says so. Naming or picking an agent is saying so for that prompt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Policy {
    /// Tools may use the network.
    #[serde(alias = "allowNetwork")]
    pub(crate) allow_network: bool,
    /// Agents and models off this machine may be chosen without being named.
    #[serde(alias = "allowExternalLlms")]
    pub(crate) allow_external_llms: bool,
}
