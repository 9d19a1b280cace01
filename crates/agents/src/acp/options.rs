//! What a session of an agent can be switched to.

use agent_client_protocol_schema::v1 as wire;
use serde_json::Value;

/// Modes and options of a session, as the agent told them last.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SessionOptions {
    /// The modes, where the agent has them.
    pub modes: Option<wire::SessionModeState>,
    /// The other options.
    pub config: Vec<wire::SessionConfigOption>,
    /// What can be typed after a slash.
    pub commands: Vec<wire::AvailableCommand>,
    /// Tokens of the conversation, and how many the model takes.
    pub context: Option<(u64, u64)>,
}

impl SessionOptions {
    /// Takes what the answer to `session/new`, `session/load` or `session/set_config_option` holds.
    pub(super) fn read(&mut self, answer: &Value) {
        if let Ok(modes) = serde_json::from_value(answer["modes"].clone()) {
            self.modes = Some(modes);
        }
        if let Ok(config) = serde_json::from_value(answer["configOptions"].clone()) {
            self.config = config;
        }
    }

    /// Takes an update, and returns it if it is none of these.
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
