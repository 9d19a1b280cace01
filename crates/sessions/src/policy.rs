//! The permissions of one session.

use openagents_core::reading::Reader;
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
    /// The reader of a delegate's answers, whose limits apply to the delegate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answers: Option<Reader>,
}

impl Policy {
    /// The policy of a session whose own cannot be read.
    pub(crate) const UNREADABLE: Self =
        Self { allow_network: false, allow_external_llms: false, answers: Some(Reader::Hosted) };
}
