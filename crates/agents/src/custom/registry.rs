//! Entries of the ACP registry in the format of `agent.json` (<https://agentclientprotocol.com/get-started/registry>).
//!
//! Downloads nothing: an entry becomes a command that the user adds. `npx` and `uvx` fetch a package when they start
//! it; a program in an archive has to be installed first.

use crate::{
    openai::{Endpoint, KeySource, OpenAi, Secret},
    shell::Environment,
};
use openagents_core::{
    agent::{AGENT_SETTINGS, AgentSettings, AgentsError, CustomAgent, CustomKind},
    agent_ids::CUSTOM_PREFIX,
    model::{LanguageModel, ModelOptions, SettingsError, SettingsStore},
};
use openagents_orchestration::agent::ModelAgent;
use openagents_tools::builtin;
use openagents_transcripts::history::History;
use serde::Deserialize;
use serde_json::Value;
use std::{collections::BTreeMap, sync::Arc};

/// The reason an entry cannot be added.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    #[error("this is not an entry of the ACP registry: {0}")]
    Malformed(#[from] serde_json::Error),
    #[error("{0} has no npx or uvx package and no program for this machine ({1}); add its command by hand")]
    NoDistribution(String, String),
}

#[derive(Deserialize)]
struct Entry {
    id: String,
    #[serde(default)]
    name: Option<String>,
    distribution: Distribution,
}

#[derive(Deserialize)]
struct Distribution {
    #[serde(default)]
    npx: Option<Package>,
    #[serde(default)]
    uvx: Option<Package>,
    #[serde(default)]
    binary: BTreeMap<String, Program>,
}

#[derive(Deserialize)]
struct Package {
    package: String,
    /// The program in the package, if its name differs from the package's.
    #[serde(default)]
    cmd: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct Program {
    cmd: String,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
}

/// Converts an entry into an agent that can be added. A program in an archive is looked up by its file name.
pub fn from_registry(entry: &str) -> Result<CustomAgent, RegistryError> {
    let Entry { id, name, distribution } = serde_json::from_str(entry)?;
    let platform = platform();
    let program = distribution.binary.into_iter().find(|(name, _)| *name == platform);
    let kind = match (distribution.npx, distribution.uvx, program) {
        (Some(package), ..) => package.fetched_by("npx", "--package", &["--yes"]),
        (None, Some(package), _) => package.fetched_by("uvx", "--from", &[]),
        (None, None, Some((_, Program { cmd, args, env }))) => {
            let command = cmd.rsplit(['/', '\\']).next().unwrap_or_default().to_owned();
            CustomKind::Acp { command, args, env, cwd: None }
        }
        (None, None, None) => return Err(RegistryError::NoDistribution(id, platform)),
    };
    Ok(CustomAgent { id, name, kind })
}

impl Package {
    /// Returns the command that fetches and starts the package. `option` precedes the package name if its program has
    /// a different name.
    fn fetched_by(self, command: &str, option: &str, before: &[&str]) -> CustomKind {
        let mut args: Vec<_> = before.iter().map(|argument| (*argument).to_owned()).collect();
        args.extend(self.cmd.is_some().then(|| option.to_owned()));
        args.push(self.package);
        args.extend(self.cmd);
        args.extend(self.args);
        CustomKind::Acp { command: command.to_owned(), args, env: self.env, cwd: None }
    }
}

fn platform() -> String {
    let system = if cfg!(target_os = "macos") { "darwin" } else { std::env::consts::OS };
    format!("{system}-{}", std::env::consts::ARCH)
}

/// The saved agents and choices. Several programs share them, so each change starts from the current state.
#[derive(Debug, Default)]
pub(crate) struct Saved {
    pub(crate) settings: AgentSettings,
    /// Agents added by another version, kept unchanged.
    unknown: Vec<Value>,
}

impl Saved {
    /// Reads the settings. Invalid entries are skipped: a damaged setting must not prevent startup.
    pub(crate) fn load(store: &dyn SettingsStore) -> Result<Self, SettingsError> {
        Ok(store.get(AGENT_SETTINGS)?.map(Self::from_value).unwrap_or_default())
    }

    /// Applies one change to the current settings and returns once it is on disk.
    pub(crate) fn change(
        store: &dyn SettingsStore,
        change: impl FnOnce(&mut AgentSettings) -> Result<(), AgentsError>,
    ) -> Result<AgentSettings, AgentsError> {
        let mut saved = Self::load(store)?;
        change(&mut saved.settings)?;
        store.set(AGENT_SETTINGS, saved.to_value()?)?;
        Ok(saved.settings)
    }

    fn from_value(mut value: Value) -> Self {
        let entries = match value.get_mut("custom").map(Value::take) {
            Some(Value::Array(entries)) => entries,
            _ => Vec::new(),
        };
        if let Value::Object(fields) = &mut value {
            fields.remove("custom");
        }
        let settings = serde_json::from_value(value).unwrap_or_else(|error| {
            tracing::warn!("skipped the saved agent settings: {error}");
            AgentSettings::default()
        });
        let mut saved = Self { settings, unknown: Vec::new() };
        for entry in entries {
            match serde_json::from_value::<CustomAgent>(entry.clone()) {
                Ok(agent) => saved.settings.custom.push(agent),
                Err(error) => {
                    tracing::warn!("skipped a saved agent: {error}");
                    saved.unknown.push(entry);
                }
            }
        }
        saved
    }

    fn to_value(&self) -> Result<Value, SettingsError> {
        let failed = |error: serde_json::Error| SettingsError(format!("{AGENT_SETTINGS}: {error}"));
        let mut value = serde_json::to_value(&self.settings).map_err(failed)?;
        if let Some(Value::Array(custom)) = value.get_mut("custom") {
            custom.extend(self.unknown.iter().cloned());
        }
        Ok(value)
    }
}

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

/// Placeholder for a hidden value. When a client sends it back, it means the stored value.
const HIDDEN: &str = "…";

/// Hides the values of variables and headers, which may be secrets: clients see only the names.
pub(crate) fn hidden(agent: &CustomAgent) -> CustomAgent {
    let mut agent = agent.clone();
    hidden_values(&mut agent.kind).values_mut().for_each(|value| HIDDEN.clone_into(value));
    agent
}

/// Replaces placeholders with the stored values. Fails with an error sentence.
pub(crate) fn restored(mut agent: CustomAgent, kept: Option<&CustomAgent>) -> Result<CustomAgent, String> {
    let is_program = |agent: &CustomAgent| matches!(agent.kind, CustomKind::Acp { .. });
    let same_kind = kept.filter(|kept| is_program(kept) == is_program(&agent)).cloned();
    let kept = same_kind.map(|mut kept| std::mem::take(hidden_values(&mut kept.kind))).unwrap_or_default();
    for (name, value) in hidden_values(&mut agent.kind).iter_mut().filter(|(_, value)| *value == HIDDEN) {
        let known = kept.get(name).ok_or_else(|| {
            format!("{HIDDEN} stands for a value that is kept, and none is kept for {name}; give its value")
        })?;
        value.clone_from(known);
    }
    Ok(agent)
}

fn hidden_values(kind: &mut CustomKind) -> &mut BTreeMap<String, String> {
    match kind {
        CustomKind::Acp { env, .. } => env,
        CustomKind::Openai { headers, .. } => headers,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Settings;
    use serde_json::json;

    fn command(distribution: serde_json::Value) -> Result<String, RegistryError> {
        let entry = json!({"id": "x", "name": "X", "version": "1.0.0", "distribution": distribution});
        let agent = from_registry(&entry.to_string())?;
        assert_eq!((agent.id.as_str(), agent.name.as_deref()), ("x", Some("X")));
        crate::custom::check(&agent).unwrap();
        let CustomKind::Acp { command, args, .. } = agent.kind else { unreachable!() };
        Ok(format!("{command} {}", args.join(" ")))
    }

    #[test]
    fn from_registry_converts_every_distribution() {
        let here = json!({"cmd": "./dist/goose", "args": ["acp"], "archive": "https://x/y.tar.gz"});
        let rows = [
            (json!({"npx": {"package": "@a/b@1.2.3", "args": ["--acp"]}}), "npx --yes @a/b@1.2.3 --acp"),
            (json!({"npx": {"package": "@a/b", "cmd": "b-acp"}}), "npx --yes --package @a/b b-acp"),
            (json!({"uvx": {"package": "b==4.5.6", "args": ["serve"]}}), "uvx b==4.5.6 serve"),
            (json!({"uvx": {"package": "b[acp]", "cmd": "b-acp"}}), "uvx --from b[acp] b-acp"),
            (json!({"binary": {platform(): here}}), "goose acp"),
        ];
        for (distribution, expected) in rows {
            assert_eq!(command(distribution).unwrap(), expected);
        }
    }

    #[test]
    fn from_registry_rejects_foreign_platforms() {
        let elsewhere = json!({"binary": {"plan9-mips": {"cmd": "./x"}}});
        assert!(matches!(command(elsewhere), Err(RegistryError::NoDistribution(id, _)) if id == "x"));
        assert!(matches!(from_registry("{}"), Err(RegistryError::Malformed(_))));
    }

    #[test]
    fn change_keeps_agents_of_other_versions() {
        let from_the_future = json!({"id": "new", "kind": "telepathy"});
        let ours = json!({"id": "mine", "name": null, "kind": "acp", "command": "agent", "args": [], "env": {}, "cwd": null});
        let store =
            Settings::with(AGENT_SETTINGS, json!({"choose": false, "custom": [from_the_future, ours]}));
        let settings = Saved::change(&store, |settings| {
            settings.allow_external_llms = true;
            Ok(())
        });
        let settings = settings.unwrap();
        assert!(!settings.choose && settings.allow_external_llms);
        assert_eq!(settings.custom.len(), 1);
        let kept = store.get(AGENT_SETTINGS).unwrap().unwrap();
        assert_eq!(kept["custom"], json!([ours, from_the_future]));
        assert_eq!((&kept["choose"], &kept["allowExternalLlms"]), (&json!(false), &json!(true)));
    }

    #[test]
    fn load_replaces_damaged_settings_by_defaults() {
        for damaged in [json!(7), json!("x"), json!({"choose": 3}), json!({"custom": 3}), json!([])] {
            let store = Settings::with(AGENT_SETTINGS, damaged.clone());
            assert_eq!(Saved::load(&store).unwrap().settings, AgentSettings::default(), "{damaged}");
        }
    }

    fn program(env: Value) -> CustomAgent {
        serde_json::from_value(json!({"id": "a", "kind": "acp", "command": "x", "env": env})).unwrap()
    }

    fn model(headers: Value) -> CustomAgent {
        let agent =
            json!({"id": "a", "kind": "openai", "baseUrl": "http://[::1]", "model": "m", "headers": headers});
        serde_json::from_value(agent).unwrap()
    }

    #[test]
    fn restored_replaces_placeholders() {
        for kept in [program(json!({"A": "one", "B": "two"})), model(json!({"A": "one", "B": "two"}))] {
            let shown = hidden(&kept);
            assert!(!serde_json::to_string(&shown).unwrap().contains("one"));
            assert_eq!(restored(shown, Some(&kept)), Ok(kept));
        }
        let kept = program(json!({"A": "one", "B": "two"}));
        let changed = restored(program(json!({"A": "…", "C": "three"})), Some(&kept));
        assert_eq!(changed, Ok(program(json!({"A": "one", "C": "three"}))));
    }

    #[test]
    fn restored_rejects_unknown_placeholders() {
        let sent = program(json!({"TOKEN": "…"}));
        for kept in [None, Some(&program(json!({"A": "one"}))), Some(&model(json!({"TOKEN": "one"})))] {
            let refusal = restored(sent.clone(), kept).unwrap_err();
            assert!(refusal.contains("TOKEN"), "{refusal}");
        }
    }
}
