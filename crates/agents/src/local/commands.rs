//! The user's commands: add, remove, change settings.

use super::{state::Inner, table::Depth};
use crate::{
    custom::{Saved, check, restored},
    limits::ADDED_AGENTS,
};
use openagents_core::{
    agent::{AgentCommand, AgentSettings, AgentsError, CustomAgent, UnaskedAgent, WorkspaceAgent},
    agent_ids::CUSTOM_PREFIX,
};
use std::sync::Arc;

impl Inner {
    pub(super) fn command(self: &Arc<Self>, command: AgentCommand) -> Result<(), AgentsError> {
        if self.closing.is_cancelled() {
            return Err(AgentsError::Refused("OpenAgents is shutting down".to_owned()));
        }
        match command {
            AgentCommand::Check => {
                self.reread();
                self.check_all(Depth::Introduction);
                Ok(())
            }
            AgentCommand::Add { agent } => self.add(agent),
            AgentCommand::Remove { id } => self.save(|settings| {
                // Accepts the given id or the provider id.
                let id = id.strip_prefix(CUSTOM_PREFIX).unwrap_or(&id);
                let before = settings.custom.len();
                settings.unasked.remove(&format!("{CUSTOM_PREFIX}{id}"));
                settings.custom.retain(|agent| agent.id != id);
                let found = settings.custom.len() < before;
                found.then_some(()).ok_or_else(|| AgentsError::Unknown(id.to_owned()))
            }),
            AgentCommand::Configure { settings: change } => self.save(|settings| {
                settings.choose = change.choose.unwrap_or(settings.choose);
                settings.allow_external_llms =
                    change.allow_external_llms.unwrap_or(settings.allow_external_llms);
                match change.workspace_agent {
                    Some(WorkspaceAgent { workspace, agent: Some(agent) }) => {
                        settings.workspace_agents.insert(workspace, agent);
                    }
                    Some(WorkspaceAgent { workspace, agent: None }) => {
                        settings.workspace_agents.remove(&workspace);
                    }
                    None => {}
                }
                for UnaskedAgent { agent, folder } in change.unasked {
                    settings.unasked.entry(agent).or_default().insert(folder);
                }
                Ok(())
            }),
        }
    }

    fn add(self: &Arc<Self>, agent: CustomAgent) -> Result<(), AgentsError> {
        let id = format!("{CUSTOM_PREFIX}{}", agent.id);
        self.save(|settings| {
            let added = settings.custom.iter().position(|added| added.id == agent.id);
            let agent =
                restored(agent, added.map(|at| &settings.custom[at])).map_err(AgentsError::Refused)?;
            check(&agent).map_err(AgentsError::Refused)?;
            if added.is_none() && settings.custom.len() >= ADDED_AGENTS {
                return Err(AgentsError::Refused(format!(
                    "{ADDED_AGENTS} agents have been added, which is the limit; remove one first"
                )));
            }
            // A different program needs a new confirmation.
            if added.is_none_or(|at| settings.custom[at].kind != agent.kind) {
                settings.unasked.remove(&id);
            }
            match added {
                Some(at) => settings.custom[at] = agent,
                None => settings.custom.push(agent),
            }
            Ok(())
        })?;
        let environment = self.table.lock().environment.clone();
        environment.iter().for_each(|environment| self.look_at_once(environment));
        self.check_one(id);
        Ok(())
    }

    /// Applies changes one at a time and returns once they are on disk.
    fn save(
        &self,
        change: impl FnOnce(&mut AgentSettings) -> Result<(), AgentsError>,
    ) -> Result<(), AgentsError> {
        let _saving = self.saving.lock();
        let settings = Saved::change(&*self.config.settings, change)?;
        self.change(|table| table.set(settings));
        Ok(())
    }

    /// Reads changes made by other programs. Keeps the current settings on an error.
    pub(super) fn reread(&self) {
        let _saving = self.saving.lock();
        match Saved::read(&*self.config.settings) {
            Ok(saved) => self.change(|table| table.set(saved.settings)),
            Err(error) => {
                tracing::warn!("{error}");
                let settings = self.table.lock().settings.clone();
                self.change(|table| table.set(settings));
            }
        }
    }
}
