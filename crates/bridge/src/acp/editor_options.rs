//! The options of a session for an editor: which agent answers, then what that agent offers. An editor that knows options
//! does not show modes.

use super::{abilities::Abilities, to_wire};
use agent_client_protocol_schema::v1::{
    ConfigOptionUpdate, SessionConfigBoolean, SessionConfigKind, SessionConfigOption,
    SessionConfigOptionCategory, SessionConfigSelect, SessionConfigSelectOption, SessionConfigSelectOptions,
    SessionNotification, SessionUpdate as Wire,
};
use openagents_core::update::{AgentPart, AgentState, SessionOption, SessionUpdate, Setting};
use openagents_sessions::Mode;
use parking_lot::Mutex;
use serde_json::Value;
use std::collections::HashMap;

/// The id of the option that chooses the agent. Those of agents have a slash.
pub(super) const AGENT: &str = "agent";

/// The choices that one client got last. Shared by both halves of its connection.
#[derive(Debug, Default)]
pub(super) struct EditorOptions {
    modes: Mutex<Vec<Mode>>,
    /// By agent.
    options: Mutex<HashMap<String, Vec<SessionOption>>>,
}

impl EditorOptions {
    /// Returns the options of `agent` for an answer to the client. `modes`: the choice of agents, of which `mode` is the
    /// current one.
    pub(super) fn answer(
        &self,
        client: Abilities,
        modes: Vec<Mode>,
        mode: &str,
        agent: &str,
        options: Vec<SessionOption>,
    ) -> Vec<SessionConfigOption> {
        let shown = shown(client, &modes, mode, agent, &options);
        *self.modes.lock() = modes;
        self.options.lock().insert(agent.to_owned(), options);
        shown
    }

    /// Returns the params of the notification after a change of the agent or of its options. `None` for another update,
    /// or if the client does not show options.
    pub(super) fn after(
        &self,
        client: Abilities,
        session_id: &str,
        mode: &str,
        update: &SessionUpdate,
    ) -> Option<Value> {
        if !client.options || client.reads_log {
            return None;
        }
        let (agent, options) = match update {
            SessionUpdate::Mode(changed) => {
                let known = self.options.lock().get(&changed.mode_id).cloned();
                (&*changed.mode_id, known.unwrap_or_default())
            }
            SessionUpdate::AgentState(AgentState { agent, part: AgentPart::Options(options) }) => {
                (agent.as_str(), options.clone())
            }
            _ => return None,
        };
        let options = shown(client, &self.modes.lock(), mode, agent, &options);
        let update = Wire::ConfigOptionUpdate(ConfigOptionUpdate::new(options));
        serde_json::to_value(SessionNotification::new(session_id.to_owned(), update)).ok()
    }
}

/// Returns the options as a client of ours or an editor shows them.
fn shown(
    client: Abilities,
    modes: &[Mode],
    mode: &str,
    agent: &str,
    options: &[SessionOption],
) -> Vec<SessionConfigOption> {
    let mut shown = to_wire::options(agent, options);
    if client.reads_log {
        return shown;
    }
    if client.booleans {
        for (shown, option) in shown.iter_mut().zip(options) {
            if let Setting::Boolean { current } = option.setting {
                shown.kind = SessionConfigKind::Boolean(SessionConfigBoolean::new(current));
            }
        }
    }
    let value = |mode: &Mode| {
        SessionConfigSelectOption::new(mode.id.clone(), mode.name.clone())
            .description(mode.description.to_owned())
    };
    let mut values: Vec<_> = modes.iter().map(value).collect();
    if modes.iter().all(|known| known.id != mode) {
        values.push(SessionConfigSelectOption::new(mode.to_owned(), mode.to_owned()));
    }
    let values = SessionConfigSelectOptions::Ungrouped(values);
    let choice = SessionConfigSelect::new(mode.to_owned(), values);
    let choice = SessionConfigOption::new(AGENT, "Agent", SessionConfigKind::Select(choice))
        .description("Who answers the prompts".to_owned())
        .category(SessionConfigOptionCategory::Other("_agent".to_owned()));
    shown.insert(0, choice);
    shown
}
