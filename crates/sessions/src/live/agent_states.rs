//! What the agents of a session report beside the conversation, so that the log ends with what holds now.

use crate::modes::DEFAULT_MODE;
use openagents_core::update::{AgentPart, AgentState, SessionOption};
use std::collections::HashMap;

#[derive(Debug, Default)]
pub(super) struct AgentStates {
    /// The newest of each part, by agent. An agent outlives a change of the mode and does not report again after it.
    known: HashMap<(String, &'static str), AgentPart>,
    /// The last entry of the log, by part.
    logged: HashMap<&'static str, AgentState>,
}

impl AgentStates {
    /// Reads the entries of a log, oldest first.
    pub(super) fn from_log(entries: impl IntoIterator<Item = AgentState>) -> Self {
        let mut states = Self::default();
        for mut state in entries {
            // The turn that it was for has ended.
            if state.part == AgentPart::EditsAllowed(true) {
                state.part = AgentPart::EditsAllowed(false);
            }
            states.know(&state);
            states.logged.insert(state.part.name(), state);
        }
        states
    }

    /// Records a report. Returns it if it belongs into the log: an agent that is no longer chosen may report as well.
    pub(super) fn report(&mut self, state: AgentState, mode: &str) -> Option<AgentState> {
        self.know(&state);
        (mode == DEFAULT_MODE || mode == state.agent).then(|| self.log(state)).flatten()
    }

    /// Returns the entries after a change of the mode: what the agent that answers now offers, instead of another's.
    pub(super) fn switch_to(&mut self, mode: &str) -> Vec<AgentState> {
        let nothing = [
            AgentPart::Commands(Vec::new()),
            AgentPart::Options(Vec::new()),
            AgentPart::EditsAllowed(false),
            AgentPart::LoggedOut(false),
        ];
        let entry = |nothing: AgentPart| {
            let name = nothing.name();
            let known = self.known.get(&(mode.to_owned(), name)).cloned();
            let part = known.unwrap_or_else(|| nothing.clone());
            let changes = part != nothing || self.logged.get(name).is_some_and(|last| last.part != nothing);
            changes.then(|| self.log(AgentState { agent: mode.to_owned(), part })).flatten()
        };
        nothing.into_iter().filter_map(entry).collect()
    }

    /// Returns the options that an agent has reported here.
    pub(super) fn options(&self, agent: &str) -> Option<&[SessionOption]> {
        match self.known.get(&(agent.to_owned(), "options"))? {
            AgentPart::Options(options) => Some(options),
            _ => None,
        }
    }

    fn know(&mut self, state: &AgentState) {
        self.known.insert((state.agent.clone(), state.part.name()), state.part.clone());
    }

    fn log(&mut self, state: AgentState) -> Option<AgentState> {
        // Every turn shows that the agent is logged in; that is news only after it was not.
        if state.part == AgentPart::LoggedOut(false) && !self.logged.contains_key(state.part.name()) {
            return None;
        }
        let last = self.logged.insert(state.part.name(), state.clone());
        (last.as_ref() != Some(&state)).then_some(state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use openagents_core::update::{ContextUsage, OfferedCommand};

    fn commands(agent: &str, names: &[&str]) -> AgentState {
        let command =
            |name: &&str| OfferedCommand { name: (*name).to_owned(), description: String::new(), hint: None };
        let part = AgentPart::Commands(names.iter().map(command).collect());
        AgentState { agent: agent.to_owned(), part }
    }

    #[test]
    fn login_is_news_only_after_a_logout() {
        let mut states = AgentStates::default();
        let login =
            |agent: &str, out| AgentState { agent: agent.to_owned(), part: AgentPart::LoggedOut(out) };
        let logged: Vec<bool> = [false, true, true, false, false]
            .map(|out| states.report(login("codex", out), "codex").is_some())
            .into_iter()
            .collect();
        assert_eq!(logged, [false, true, false, true, false]);
        states.report(login("codex", true), "codex");
        assert_eq!(states.switch_to("gemini"), [login("gemini", false)]);
        assert_eq!(states.switch_to("codex"), [login("codex", true)]);
    }

    #[test]
    fn log_ends_with_commands_of_chosen_agent() {
        let mut states = AgentStates::default();
        assert_eq!(states.switch_to("codex"), [], "nothing to take back");
        let codex = commands("codex", &["init"]);
        assert_eq!(states.report(codex.clone(), "codex"), Some(codex.clone()));
        assert_eq!(states.report(codex.clone(), "codex"), None, "the same again");
        assert_eq!(states.switch_to("claude-code"), [commands("claude-code", &[])]);
        assert_eq!(states.switch_to(DEFAULT_MODE), [], "there are none in the log");
        // Reported too late.
        let newer = commands("codex", &["init", "review"]);
        assert_eq!(states.report(newer.clone(), "claude-code"), None);
        assert_eq!(states.switch_to("codex"), std::slice::from_ref(&newer));
        assert_eq!(states.switch_to("codex"), []);

        let mut states = AgentStates::from_log([codex, newer.clone()]);
        assert_eq!(states.report(newer, "codex"), None, "after a restart");
        assert_eq!(states.switch_to("claude-code"), [commands("claude-code", &[])]);
    }

    #[test]
    fn edits_allowed_before_a_restart_are_allowed_anew() {
        let edits =
            |allowed| AgentState { agent: "codex".to_owned(), part: AgentPart::EditsAllowed(allowed) };
        let mut states = AgentStates::from_log([edits(true)]);
        assert_eq!(states.report(edits(true), "codex"), Some(edits(true)));
        assert_eq!(states.report(edits(false), "codex"), Some(edits(false)));
        assert_eq!(states.report(edits(false), "codex"), None);
    }

    #[test]
    fn usage_of_any_agent_is_logged_when_openagents_chooses() {
        let mut states = AgentStates::default();
        let part = AgentPart::Usage(ContextUsage { used: 1, size: 2, cost: None });
        let usage = AgentState { agent: "codex".to_owned(), part };
        assert_eq!(states.report(usage.clone(), DEFAULT_MODE), Some(usage));
        assert_eq!(states.switch_to("codex"), []);
    }
}
