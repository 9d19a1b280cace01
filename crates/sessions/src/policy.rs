//! The permissions of one session.

use serde::{Deserialize, Serialize};

/// Permissions of a session; none by default. Naming or picking an agent permits it for that prompt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Policy {
    /// Tools may use the network.
    #[serde(alias = "allowNetwork")]
    pub allow_network: bool,
    /// Prompts may be routed to external agents and models that were not named.
    #[serde(alias = "allowExternalLlms")]
    pub allow_external_llms: bool,
}
