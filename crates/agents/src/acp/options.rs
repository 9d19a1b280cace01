//! Modes, options and commands of a session.

use agent_client_protocol_schema::v1 as wire;
use serde_json::Value;

/// Modes, options and commands of a session, as last reported by the agent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SessionOptions {
    /// The modes, if the agent has any.
    pub modes: Option<wire::SessionModeState>,
    /// The other options.
    pub config: Vec<wire::SessionConfigOption>,
    /// Slash commands.
    pub commands: Vec<wire::AvailableCommand>,
    /// Used tokens of the context, and its size.
    pub context: Option<(u64, u64)>,
}

impl SessionOptions {
    /// Reads the response to `session/new`, `session/load` or `session/set_config_option`.
    pub(super) fn read(&mut self, answer: &Value) {
        if let Ok(modes) = serde_json::from_value(answer["modes"].clone()) {
            self.modes = Some(modes);
        }
        if let Ok(config) = serde_json::from_value(answer["configOptions"].clone()) {
            self.config = config;
        }
    }

    /// Applies an update, or returns it if it is of another kind.
    pub(super) fn take(&mut self, update: wire::SessionUpdate) -> Option<wire::SessionUpdate> {
        match update {
            wire::SessionUpdate::AvailableCommandsUpdate(update) => self.commands = update.available_commands,
            wire::SessionUpdate::CurrentModeUpdate(update) => {
                if let Some(modes) = &mut self.modes {
                    modes.current_mode_id = update.current_mode_id;
                }
            }
            wire::SessionUpdate::ConfigOptionUpdate(update) => self.config = update.config_options,
            wire::SessionUpdate::UsageUpdate(update) => self.context = Some((update.used, update.size)),
            other => return Some(other),
        }
        None
    }
}
