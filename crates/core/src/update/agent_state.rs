//! What an agent reports about its session beside the conversation.

use super::session_option::SessionOption;
use serde::{Deserialize, Serialize};

/// A part of an agent's state in a session. Only the newest of each part counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentState {
    /// Id of the agent.
    pub agent: String,
    #[serde(flatten)]
    pub part: AgentPart,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "part", content = "value", rename_all = "snake_case")]
pub enum AgentPart {
    /// All commands that the agent offers.
    Commands(Vec<OfferedCommand>),
    /// All settings of the session that the agent offers.
    Options(Vec<SessionOption>),
    /// How much of the model's context is in use.
    Usage(ContextUsage),
    /// Until its turn ends, the agent need not ask before it edits files in the workspace.
    EditsAllowed(bool),
    /// The agent does no work until the user logs in.
    LoggedOut(bool),
    /// What the agent calls the session: its title, unless the user has given it one. Logged as a title.
    Title(String),
}

/// A command that an agent offers in a session; sent as a prompt, `/name args`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfferedCommand {
    /// Without the slash; may have spaces.
    pub name: String,
    /// One line.
    pub description: String,
    /// Hint about its arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ContextUsage {
    /// Tokens.
    pub used: u64,
    /// Tokens that fit; 0 if the agent does not know.
    pub size: u64,
    /// What the session has cost so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    pub amount: f64,
    /// ISO 4217: `USD`.
    pub currency: String,
}

impl AgentPart {
    /// Returns its name on the wire and in the log.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Commands(_) => "commands",
            Self::Options(_) => "options",
            Self::Usage(_) => "usage",
            Self::EditsAllowed(_) => "edits_allowed",
            Self::LoggedOut(_) => "logged_out",
            Self::Title(_) => "title",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::update::SessionUpdate;
    use serde_json::json;

    #[test]
    fn state_is_stored_with_agent_and_part() {
        let command = OfferedCommand { name: "init".into(), description: "Sets up".into(), hint: None };
        let cost = Cost { amount: 0.01, currency: "USD".to_owned() };
        let rows = [
            (
                AgentPart::Commands(vec![command]),
                json!({"kind": "agent_state", "agent": "codex", "part": "commands",
                    "value": [{"name": "init", "description": "Sets up"}]}),
            ),
            (
                AgentPart::Options(Vec::new()),
                json!({"kind": "agent_state", "agent": "codex", "part": "options", "value": []}),
            ),
            (
                AgentPart::LoggedOut(true),
                json!({"kind": "agent_state", "agent": "codex", "part": "logged_out", "value": true}),
            ),
            (
                AgentPart::Usage(ContextUsage { used: 128, size: 0, cost: Some(cost) }),
                json!({"kind": "agent_state", "agent": "codex", "part": "usage",
                    "value": {"used": 128, "size": 0, "cost": {"amount": 0.01, "currency": "USD"}}}),
            ),
        ];
        for (part, stored) in rows {
            assert_eq!(stored["part"], part.name());
            let update = SessionUpdate::AgentState(AgentState { agent: "codex".to_owned(), part });
            assert_eq!(serde_json::to_value(&update).unwrap(), stored);
            assert_eq!(serde_json::from_value::<SessionUpdate>(stored).unwrap(), update);
        }
    }
}
