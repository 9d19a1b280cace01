//! Lookup of models and agents for turns.

use openagents_core::{
    CancellationToken,
    agent::{AgentProvider, Agents},
    agent_ids::{CLAUDE_CODE, CODEX, CUSTOM_PREFIX, LOCAL_FM, LOCAL_MODEL},
    model::{Availability, LanguageModel, LocalModels, ModelOptions, NamedModel},
    update::SessionUpdate,
};
use openagents_orchestration::{
    explore::{ExploreOutcome, ExploreRequest, Explorer},
    route::Candidate,
};
use openagents_tools::{builtin, tool::Toolbox};
use openagents_transcripts::history::History;
use std::sync::Arc;

/// Runs explorations. Implemented by [`Explorer`], and replaced in tests.
pub trait Explore: Send + Sync + std::fmt::Debug {
    /// See [`Explorer::explore`].
    fn explore(
        &self,
        request: &ExploreRequest,
        cancel: &CancellationToken,
        emit: &(dyn Fn(SessionUpdate) + Sync),
    ) -> ExploreOutcome;
}

impl Explore for Explorer {
    fn explore(
        &self,
        request: &ExploreRequest,
        cancel: &CancellationToken,
        emit: &(dyn Fn(SessionUpdate) + Sync),
    ) -> ExploreOutcome {
        Explorer::explore(self, request, cancel, emit)
    }
}

#[derive(Debug, Clone)]
pub struct Providers {
    pub explorer: Arc<dyn Explore>,
    /// The local models; they add the mode `gptoss_20b`.
    pub models: Option<Arc<dyn LocalModels>>,
    /// The agents on this machine; they add their modes, and routing.
    pub agents: Option<Arc<dyn Agents>>,
    /// A fast model that also routes unclear prompts: Foundation Models, if available.
    pub foundation: Option<Arc<dyn LanguageModel>>,
}

impl Providers {
    /// Creates providers for rule-based exploration without models.
    pub fn rules(history: Arc<History>) -> Self {
        Self {
            explorer: Arc::new(Explorer::heuristic(history)),
            models: None,
            agents: None,
            foundation: None,
        }
    }

    /// Creates providers with local models that answer, and that plan explorations on request: the fast model before
    /// the one that has to be loaded.
    pub fn local(
        history: Arc<History>,
        models: Option<Arc<dyn LocalModels>>,
        foundation: Option<Arc<dyn LanguageModel>>,
    ) -> Self {
        let planners = foundation.iter().cloned().chain(models.iter().map(|models| models.model())).collect();
        let explorer = Explorer { models: planners, ..Explorer::heuristic(history) };
        Self { explorer: Arc::new(explorer), models, agents: None, foundation }
    }
}

pub(crate) enum Responder {
    /// A model in our agent loop.
    Model(Arc<dyn LanguageModel>, ModelOptions),
    Agent(Arc<dyn AgentProvider>),
}

#[derive(Debug)]
pub(crate) struct Runner {
    pub(crate) explorer: Arc<dyn Explore>,
    pub(crate) models: Option<Arc<dyn LocalModels>>,
    pub(crate) agents: Option<Arc<dyn Agents>>,
    pub(crate) foundation: Option<Arc<dyn LanguageModel>>,
    pub(crate) tools: Toolbox,
}

impl Runner {
    pub(crate) fn new(providers: Providers, history: Arc<History>) -> Self {
        let Providers { explorer, models, agents, foundation } = providers;
        Self { explorer, models, agents, foundation, tools: builtin::toolbox(history) }
    }

    /// Returns whether a model or an agent serves a mode; other modes explore.
    pub(crate) fn serves(&self, mode: &str) -> bool {
        let is_agent_mode = || mode == CODEX || mode == CLAUDE_CODE || mode.starts_with(CUSTOM_PREFIX);
        match mode {
            LOCAL_MODEL => self.models.is_some(),
            mode => {
                self.agents.as_ref().is_some_and(|agents| is_agent_mode() || agents.provider(mode).is_some())
            }
        }
    }

    /// Opens a model that a prompt names, or returns the reason why it cannot answer.
    pub(crate) fn named_model(&self, model: &NamedModel) -> Result<Responder, String> {
        let opened = match model {
            NamedModel::File(file) => self.models.as_ref().map(|models| models.open_file(file)),
            NamedModel::Server { name, base_url, key_variable } => self
                .agents
                .as_ref()
                .map(|agents| agents.open_server(name, base_url.as_deref(), key_variable.as_deref())),
        };
        let model = opened.ok_or_else(|| "No model runs here; choose another mode.".to_owned())??;
        Ok(Responder::Model(model, ModelOptions::default()))
    }

    /// Finds a provider, or returns the reason why it cannot answer.
    pub(crate) fn responder(&self, provider: &str) -> Result<Responder, String> {
        match provider {
            LOCAL_MODEL => match &self.models {
                Some(models) => Ok(Responder::Model(models.model(), models.snapshot().settings.options())),
                None => Err("no local model runs here; choose another mode".to_owned()),
            },
            LOCAL_FM => match &self.foundation {
                Some(model) => Ok(Responder::Model(model.clone(), ModelOptions::default())),
                None => {
                    Err("Foundation Models are not available on this computer. Choose another agent."
                        .to_owned())
                }
            },
            id => {
                let agents = self.agents.as_deref();
                let agent = agents.and_then(|agents| agents.provider(id)).ok_or_else(|| {
                    let id = openagents_core::text::prefix(id, 100);
                    format!("There is no agent {id} here. Choose another one.")
                })?;
                if let Availability::Unavailable(reason) = agent.availability() {
                    return Err(unavailable_reason(agents, id, &reason));
                }
                Ok(match agent.model() {
                    Some(model) => Responder::Model(model, ModelOptions::default()),
                    None => Responder::Agent(agent),
                })
            }
        }
    }

    pub(crate) fn has_any(&self) -> bool {
        self.models.is_some() || self.agents.is_some() || self.foundation.is_some()
    }

    /// Returns all models and agents that can get a prompt or a task, available or not.
    pub(crate) fn candidates(&self) -> Vec<Candidate> {
        let model = |id: &str, model: Arc<dyn LanguageModel>| Candidate {
            id: id.to_owned(),
            name: model.name(),
            local: true,
            availability: model.availability(),
        };
        let local = self.models.as_ref().map(|models| model(LOCAL_MODEL, models.model()));
        let foundation = self.foundation.as_ref().map(|foundation| model(LOCAL_FM, foundation.clone()));
        let agents = self.agents.as_ref().map(|agents| agents.providers()).unwrap_or_default();
        let agents = agents.into_iter().map(|agent| Candidate {
            id: agent.id().to_owned(),
            name: agent.name(),
            local: agent.is_local(),
            availability: agent.availability(),
        });
        agents.chain(local).chain(foundation).collect()
    }

    /// Returns a ready local model, preferring one that is loaded.
    pub(crate) fn ready_model(&self) -> Option<(Arc<dyn LanguageModel>, ModelOptions)> {
        let local = self.models.as_ref().map(|models| (models.model(), models.snapshot().settings.options()));
        let foundation = self.foundation.iter().map(|model| (model.clone(), ModelOptions::default()));
        let models = local.into_iter().chain(foundation);
        let is_ready = |model: &Arc<dyn LanguageModel>| {
            model.capabilities().local && model.availability() == Availability::Ready
        };
        let ready = models.filter(|(model, _)| is_ready(model));
        ready.max_by_key(|(model, _)| model.capabilities().loaded)
    }

    pub(crate) fn agent(&self, id: &str) -> Option<Arc<dyn AgentProvider>> {
        self.agents.as_ref().and_then(|agents| agents.provider(id))
    }
}

fn unavailable_reason(agents: Option<&dyn Agents>, id: &str, reason: &str) -> String {
    let card = agents.and_then(|agents| agents.snapshot().agents.into_iter().find(|card| card.id == id));
    let remedy = card.and_then(|card| card.remedy).filter(|remedy| !reason.contains(remedy.as_str()));
    let sentence = |text: &str| format!("{}.", text.trim().trim_end_matches('.'));
    match remedy {
        Some(remedy) => format!("{} {}", sentence(reason), sentence(&remedy)),
        None => sentence(reason),
    }
}
