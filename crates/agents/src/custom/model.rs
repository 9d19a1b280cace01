//! A custom model as an agent.

use crate::{
    openai::{Endpoint, KeySource, OpenAi, Secret},
    shell::Environment,
};
use openagents_core::{
    agent::CustomAgent,
    agent_ids::CUSTOM_PREFIX,
    model::{LanguageModel, ModelOptions},
};
use openagents_orchestration::agent::ModelAgent;
use openagents_tools::builtin;
use openagents_transcripts::history::History;
use std::sync::Arc;

/// Creates a client without connecting. Fails with a clause.
pub(crate) fn model_agent(agent: &CustomAgent, environment: &Environment) -> Result<ModelAgent, String> {
    let id = format!("{CUSTOM_PREFIX}{}", agent.id);
    let mut endpoint = Endpoint::custom(agent).ok_or_else(|| format!("{id} is a program, not a model"))?;
    // This process may lack the variables of the login shell.
    if let KeySource::Variable(name) = &endpoint.key
        && let Some(key) = environment.get(name).and_then(|key| Secret::new(key.to_str()?))
    {
        endpoint.key = KeySource::Given(key);
    }
    let model = OpenAi::new(endpoint).map_err(|error| error.to_string())?;
    Ok(ModelAgent {
        id,
        name: agent.name.clone().unwrap_or_else(|| agent.id.clone()),
        local: model.capabilities().local,
        model: Arc::new(model),
        options: ModelOptions::default(),
        tools: builtin::toolbox(Arc::new(History::empty())),
    })
}
