//! A model that a person added, as an agent: whoever has the session runs the loop.

use crate::{
    openai::{Endpoint, KeySource, OpenAi, Secret},
    shell::Environment,
};
use openagents_core::{
    CancellationToken,
    agent::{AgentHost, AgentProvider, AgentRequest, CUSTOM_PREFIX, CustomAgent, PromptOutcome},
    model::{Availability, Capabilities, LanguageModel},
    update::RunState,
};
use std::sync::Arc;

/// A model behind an address.
#[derive(Debug)]
pub(crate) struct ModelAgent {
    id: String,
    name: String,
    model: Arc<OpenAi>,
}

impl ModelAgent {
    /// Makes a client; connects to nothing. Fails with a clause.
    pub(crate) fn new(agent: &CustomAgent, environment: &Environment) -> Result<Self, String> {
        let id = format!("{CUSTOM_PREFIX}{}", agent.id);
        let mut endpoint =
            Endpoint::custom(agent).ok_or_else(|| format!("{id} is a program and not a model"))?;
        // This process may not have the variables of the person's shell.
        if let KeySource::Variable(name) = &endpoint.key
            && let Some(key) = environment.get(name).and_then(|key| Secret::new(key.to_str()?))
        {
            endpoint.key = KeySource::Given(key);
        }
        let model = OpenAi::new(endpoint).map_err(|error| error.to_string())?;
        let name = agent.name.clone().unwrap_or_else(|| agent.id.clone());
        Ok(Self { id, name, model: Arc::new(model) })
    }
}

impl AgentProvider for ModelAgent {
    fn id(&self) -> &str {
        &self.id
    }

    fn name(&self) -> String {
        self.name.clone()
    }

    fn is_local(&self) -> bool {
        let Capabilities { local, .. } = self.model.capabilities();
        local
    }

    fn availability(&self) -> Availability {
        self.model.availability()
    }

    fn model(&self) -> Option<Arc<dyn LanguageModel>> {
        Some(self.model.clone())
    }

    /// Is not called: there is a model.
    fn prompt(
        &self,
        _request: &AgentRequest,
        _host: Arc<dyn AgentHost>,
        _cancel: &CancellationToken,
    ) -> PromptOutcome {
        let text = format!("{} is a model and has no loop of its own", self.name);
        PromptOutcome { state: RunState::Failed, text, usage: None, cut_off: false }
    }

    fn close(&self, _session_id: &str) {}
}
