//! The options of a session for an editor: which agent answers, then what that agent offers. An editor that knows options
//! does not show modes.

use super::{abilities::Abilities, to_wire};
use agent_client_protocol_schema::v1::{
    ConfigOptionUpdate, SessionConfigBoolean, SessionConfigKind, SessionConfigOption,
    SessionConfigOptionCategory, SessionConfigSelect, SessionConfigSelectOption, SessionConfigSelectOptions,
    SessionNotification, SessionUpdate as Wire,
};
use openagents_core::update::{SessionOption, Setting};
use openagents_sessions::Mode;
use serde_json::Value;

/// The id of the option that chooses the agent. Those of agents have a slash.
pub(super) const AGENT: &str = "agent";

/// Returns the options of a session as a client of ours or an editor gets them. `modes`: the choice of agents, of which
/// `mode` is the current one; `agent`: the one whose options these are.
pub(super) fn shown(
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

/// Returns the params of the notification after a change of the agent or of its options.
pub(super) fn changed(session_id: &str, options: Vec<SessionConfigOption>) -> Value {
    let update = Wire::ConfigOptionUpdate(ConfigOptionUpdate::new(options));
    serde_json::to_value(SessionNotification::new(session_id.to_owned(), update)).unwrap_or_default()
}
