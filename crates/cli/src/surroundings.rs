//! Shared by the commands: our data folder, the history of other agents, running one tool.

use crate::output;
use anyhow::Context;
use openagents_agents::{AgentsConfig, LocalAgents, OwnTools};
use openagents_apple::FoundationModels;
use openagents_bridge::{Providers, StoredSettings, Surroundings};
use openagents_core::{
    CancellationToken,
    budget::Budget,
    folders::models_folder,
    model::{LocalModels, MODEL_SETTINGS, ModelsSnapshot, SettingsError, SettingsStore},
    workspace::Workspace,
};
use openagents_llama::{Local, LocalConfig, client::Helper};
use openagents_tools::{
    builtin,
    reading::{Readable, Reader, ReadingRules},
    tool::{Limits, ToolContext, ToolError, ToolOutput, unchanged},
};
use openagents_transcripts::{
    cache::TranscriptCache,
    history::{History, HistoryRoots, HistorySettings, MemoryListingCache, Query, Transcript},
    history_index::HistoryIndex,
    keep::KeptCopies,
};
use serde_json::Value;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

/// Time limit for a first list of many gigabytes, and for reading all of them once.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Returns the budget for listing or reading past sessions.
pub(crate) fn patience() -> Budget {
    Budget::within(PATIENCE, &CancellationToken::new())
}

pub(crate) fn data_folder() -> anyhow::Result<PathBuf> {
    openagents_core::folders::data_folder()
        .context("there is no home folder; set OPENAGENTS_HOME to a folder that can be written to")
}

/// Returns the past sessions on this machine. Parsed transcripts are cached in our data folder; without one, reading is
/// only slower.
pub(crate) fn history() -> History {
    let Ok(home) = data_folder() else {
        return History::new(HistoryRoots::from_env(), Arc::new(MemoryListingCache::default()));
    };
    let history = History::new(HistoryRoots::from_env(), TranscriptCache::open(&home));
    if let Err(error) = exclude_stored(&history, &home) {
        output::warn(&format!("past sessions are hidden, because their settings cannot be read: {error}"));
    }
    let kept = KeptCopies::open_reader(&home);
    let history = match kept.inspect_err(|error| output::warn(&format!("kept copies are not shown: {error}")))
    {
        Ok(Some(copies)) => history.with_copies(copies),
        _ => history,
    };
    match HistoryIndex::open_existing(&home) {
        Some(index) => history.with_words(Arc::new(index)),
        None => history,
    }
}

/// Returns the session whose id begins with `id`.
pub(crate) fn session(history: &History, id: &str) -> anyhow::Result<Transcript> {
    let query = Query { all: true, ..Query::default() };
    let mut found = history.list(&query, &patience()).rows;
    found.retain(|row| row.id.starts_with(id));
    match found.len() {
        0 => anyhow::bail!("no session id begins with {id}; see `openagents sessions list --all`"),
        1 => Ok(found.remove(0)),
        many => anyhow::bail!("{many} session ids begin with {id}; type more of the id"),
    }
}

/// Applies the user's current exclusions and moved folders; excludes every session if they cannot be read.
pub(crate) fn exclude_stored(history: &History, home: &Path) -> Result<(), SettingsError> {
    let stored = HistorySettings::stored(&StoredSettings(home.to_owned()));
    let (settings, result) = match stored {
        Ok(settings) => (settings, Ok(())),
        Err(error) => (HistorySettings::unreadable(), Err(error)),
    };
    history.exclude(settings.excluded);
    history.follow_moved(settings.moved);
    result
}

/// Returns whether hosted agents may read the past sessions of their workspace.
pub(crate) fn hosted_history() -> bool {
    let stored = |home| ReadingRules::stored(&StoredSettings(home));
    data_folder().map(stored).unwrap_or_default().allows(Reader::Hosted, Readable::History)
}

/// Returns the providers of a bridge: the agents of this machine, and its models if a models folder exists.
pub(crate) fn providers(around: Surroundings) -> Providers {
    providers_with(around, true)
}

/// Like [`providers`], for a bridge that ends soon: no model is loaded before a prompt needs it.
pub(crate) fn providers_on_demand(around: Surroundings) -> Providers {
    providers_with(around, false)
}

fn providers_with(around: Surroundings, preload: bool) -> Providers {
    let agents = LocalAgents::start(AgentsConfig {
        settings: around.settings.clone(),
        history: around.history.clone(),
        keeper: around.keeper,
        own_tools: std::env::current_exe().ok().map(|program| OwnTools { program, home: around.home }),
        packages: around.packages,
        registry: None,
    });
    let models = start(around.settings, preload)
        .inspect_err(|error| output::warn(&format!("no local models: {error:#}")))
        .ok();
    let models = models.map(|models| models as Arc<dyn LocalModels>);
    let foundation = FoundationModels::start();
    Providers { agents: Some(agents), ..Providers::local(around.history, models, Some(foundation)) }
}

/// Runs one tool to its end.
pub(crate) fn call_tool(
    workspace: &Workspace,
    name: &str,
    arguments: Value,
) -> Result<ToolOutput, ToolError> {
    let registry = builtin::registry();
    let context = ToolContext {
        workspace,
        history: &history(),
        limits: &Limits::default(),
        cancel: &CancellationToken::new(),
        progress: &(),
        rewrite: unchanged,
    };
    registry.call(name, &context, arguments)
}

/// Returns the models of this machine. With `preload`, the one in use is loaded at once if the settings say so.
pub(crate) fn start(settings: Arc<dyn SettingsStore>, preload: bool) -> anyhow::Result<Arc<Local>> {
    let mut config = model_config(settings)?;
    config.preload = preload;
    Ok(Local::start(config))
}

fn model_config(settings: Arc<dyn SettingsStore>) -> anyhow::Result<LocalConfig> {
    let folder = models_folder()
        .context("the home folder is unknown; set OPENAGENTS_HOME to a folder that can be written to")?;
    Ok(LocalConfig::new(folder, settings, Arc::new(Helper::new())))
}

pub(crate) fn like_the_bridge(snapshot: &ModelsSnapshot) -> anyhow::Result<Arc<Local>> {
    let settings = Arc::new(ReadOnly(serde_json::to_value(&snapshot.settings)?));
    let mut config = model_config(settings)?;
    config.model_file = snapshot.models.iter().find(|card| card.in_use).and_then(|card| card.path.clone());
    config.preload = false;
    Ok(Local::start(config))
}

/// The model settings of a bridge.
#[derive(Debug)]
struct ReadOnly(Value);

impl SettingsStore for ReadOnly {
    fn get(&self, key: &str) -> Result<Option<Value>, SettingsError> {
        Ok((key == MODEL_SETTINGS).then(|| self.0.clone()))
    }

    fn set(&self, _key: &str, _value: Value) -> Result<(), SettingsError> {
        Err(SettingsError("a bridge keeps them".to_owned()))
    }
}
