//! The policy that a client sets for a session that it creates.

use openagents_sessions::Policy;
use serde::Deserialize;
use serde_json::Value;

/// The policy of a session, as sent by the client.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct PolicyParams {
    /// `false` keeps prompts on this machine whatever the settings allow; if absent, the settings decide.
    #[serde(alias = "allowNetwork")]
    allow_network: Option<bool>,
    /// Whether prompts may be routed to external agents and models that they do not name.
    #[serde(alias = "allowExternalLlms")]
    allow_external_llms: bool,
}

/// Returns the policy for a session that an admin creates. Other clients' sessions have the default.
pub(super) fn policy(ours: Option<&Value>) -> Policy {
    let policy = ours.and_then(|ours| ours.get("policy")).cloned();
    let PolicyParams { allow_network, allow_external_llms } =
        policy.and_then(|policy| serde_json::from_value(policy).ok()).unwrap_or_default();
    Policy { stays_here: allow_network == Some(false), allow_external_llms, answers: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn forbidding_the_network_differs_from_saying_nothing() {
        for (sent, stays_here, allow_external_llms) in [
            (json!({}), false, false),
            (json!({"policy": {"allow_network": true}}), false, false),
            (json!({"policy": {"allowNetwork": false, "allowExternalLlms": true}}), true, true),
            (json!({"policy": {"allow_network": "?"}}), false, false),
        ] {
            let expected = Policy { stays_here, allow_external_llms, answers: None };
            assert_eq!(policy(Some(&sent)), expected, "{sent}");
        }
    }
}
