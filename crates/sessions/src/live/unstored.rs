//! Session state that is shown to clients but not stored: the running turn's activity, and the commands its agent
//! offers.

use super::session::Session;
use openagents_core::{agent::OfferedCommand, model::Activity};
use std::sync::Arc;

impl Session {
    /// Returns the activity of the running turn, and a number that is incremented with every change.
    pub fn activity(&self) -> (u64, Option<Activity>) {
        self.lock().activity
    }

    /// Sets the activity of the running turn.
    pub(crate) fn show(&self, activity: Option<Activity>) {
        let mut state = self.lock();
        if state.activity.1 != activity {
            state.activity = (state.activity.0 + 1, activity);
            state.watchers.wake();
        }
    }

    /// Returns the commands that the agent offers, and a number that is incremented with every change.
    pub fn commands(&self) -> (u64, Arc<[OfferedCommand]>) {
        self.lock().commands.clone()
    }

    /// Sets the commands that the agent offers.
    pub(crate) fn offer(&self, commands: Vec<OfferedCommand>) {
        let mut state = self.lock();
        if *state.commands.1 != *commands {
            state.commands = (state.commands.0 + 1, commands.into());
            state.watchers.wake();
        }
    }
}
