//! The permissions of one session.

use openagents_tools::reading::Reader;
use serde::{Deserialize, Serialize};

/// Permissions of a session; none by default. Naming or picking an agent permits it for that prompt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Policy {
    /// The client has forbidden the network: prompts stay on this machine whatever the settings allow.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub stays_here: bool,
    /// Prompts may be routed to external agents and models that were not named.
    pub allow_external_llms: bool,
    /// The reader of a delegate's answers, whose limits apply to the delegate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answers: Option<Reader>,
}

impl Policy {
    /// The policy of a session whose stored policy cannot be read.
    pub(crate) const UNREADABLE: Self =
        Self { stays_here: true, allow_external_llms: false, answers: Some(Reader::Hosted) };

    /// Returns whether prompts may leave this machine for an agent or a model that was not named. `settings` is whether
    /// every session allows it.
    pub(crate) fn allows_external(self, settings: bool) -> bool {
        !self.stays_here && (self.allow_external_llms || settings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policy_without_network_never_allows_external() {
        for (stays_here, allow_external_llms, settings, expected) in [
            (false, false, false, false),
            (false, true, false, true),
            (false, false, true, true),
            (true, true, true, false),
            (true, false, true, false),
        ] {
            let policy = Policy { stays_here, allow_external_llms, answers: None };
            assert_eq!(policy.allows_external(settings), expected, "{policy:?} {settings}");
        }
    }

    #[test]
    fn policy_parses_older_format() {
        let stored = r#"{"allow_network":false,"allow_external_llms":true}"#;
        let expected = Policy { allow_external_llms: true, ..Policy::default() };
        assert_eq!(serde_json::from_str::<Policy>(stored).unwrap(), expected);
    }
}
