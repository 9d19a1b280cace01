//! The agents of this machine as a person manages them: what `doctor` shows, and what can be done.

use super::AgentProvider;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

/// The key of [`AgentSettings`] among the settings.
pub const AGENT_SETTINGS: &str = "agents";

/// Knows the agents of this machine.
pub trait Agents: Send + Sync + std::fmt::Debug {
    /// Returns every agent that can be chosen, available or not: Codex and Claude Code first.
    fn providers(&self) -> Vec<Arc<dyn AgentProvider>>;

    /// Finds one by its id.
    fn provider(&self, id: &str) -> Option<Arc<dyn AgentProvider>> {
        self.providers().into_iter().find(|provider| provider.id() == id)
    }

    /// Returns how everything stands. Cheap: starts nothing.
    fn snapshot(&self) -> AgentsSnapshot;

    /// Calls `on_change` whenever a snapshot would differ, from any thread, until the process ends. It must not block.
    fn watch(&self, on_change: Arc<dyn Fn() + Send + Sync>);

    /// Does what a person asked for. A check goes on after the return and tells its progress in the snapshot. May block
    /// for a moment.
    fn command(&self, command: AgentCommand) -> Result<(), AgentsError>;

    /// Ends every agent that runs, with its whole process group. Blocks for 2 s at most.
    fn shut_down(&self);
}

/// What a person can ask for.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentCommand {
    /// Look for every agent again, and start each ACP adapter once to hear what it supports.
    Check,
    /// Add an agent, or change the one with this id.
    Add(CustomAgent),
    /// Forget an agent that was added.
    Remove {
        /// [`CustomAgent::id`].
        id: String,
    },
    /// Change some settings.
    Configure(AgentSettingsChange),
}

/// What a person chose about agents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct AgentSettings {
    /// "Let OpenAgents choose": prompts in `default_mode` are routed.
    pub choose: bool,
    /// Agents and models that are not on this machine may be started without asking. Off unless a person switches it on.
    pub allow_external_llms: bool,
    /// "Always in this folder": who does the work of a workspace, as the id of an agent by the path of the workspace.
    pub workspace_agents: BTreeMap<PathBuf, String>,
    /// Agents that a person added.
    pub custom: Vec<CustomAgent>,
}

impl Default for AgentSettings {
    fn default() -> Self {
        Self {
            choose: true,
            allow_external_llms: false,
            workspace_agents: BTreeMap::new(),
            custom: Vec::new(),
        }
    }
}

/// A change of some settings; what is absent stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct AgentSettingsChange {
    /// See [`AgentSettings::choose`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub choose: Option<bool>,
    /// See [`AgentSettings::allow_external_llms`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow_external_llms: Option<bool>,
    /// See [`AgentSettings::workspace_agents`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace_agent: Option<WorkspaceAgent>,
}

/// Who does the work of one workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceAgent {
    /// Its path.
    pub workspace: PathBuf,
    /// The agent's id; absent takes the choice back.
    #[serde(default)]
    pub agent: Option<String>,
}

/// An agent that a person added; its mode is `custom:<id>`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CustomAgent {
    /// 1 to 64 of `a-z 0-9 - _ .`.
    pub id: String,
    /// For people; the id where it is absent.
    #[serde(default)]
    pub name: Option<String>,
    /// How it answers.
    #[serde(flatten)]
    pub kind: CustomKind,
}

/// How an agent answers that a person added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum CustomKind {
    /// A program that speaks ACP on its standard input and output.
    Acp {
        /// A name to look up in the PATH, or an absolute path.
        command: String,
        /// Its arguments.
        #[serde(default)]
        args: Vec<String>,
        /// Added to its environment.
        #[serde(default)]
        env: BTreeMap<String, String>,
        /// Where it is started; the workspace where it is absent.
        #[serde(default)]
        cwd: Option<PathBuf>,
    },
    /// A model behind an OpenAI-compatible address, with our own loop and tools.
    Openai {
        /// `http://127.0.0.1:8080/v1`.
        base_url: String,
        /// As the server names it.
        model: String,
        /// The variable that holds the key; the key itself is never stored here.
        #[serde(default)]
        key_variable: Option<String>,
        /// Added to every request. No secrets.
        #[serde(default)]
        headers: BTreeMap<String, String>,
    },
}

/// How the agents stand.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentsSnapshot {
    /// Codex, Claude Code, the other known ones by name, then those that were added.
    pub agents: Vec<AgentCard>,
    /// What a person chose. The values of variables and headers are `…`; so sent back, they stay as they are.
    pub settings: AgentSettings,
    /// The PATH of the person's login shell, in which agents are looked for.
    pub path: String,
    /// A check is under way.
    pub checking: bool,
    /// When the last check ended, in milliseconds since the epoch.
    pub checked_at: Option<i64>,
}

/// What is known of one agent.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentCard {
    /// `codex`, `claude-code`, `gemini`, …, `custom:<id>`.
    pub id: String,
    /// `Claude Code`.
    pub name: String,
    /// Prompts can be sent to it as a mode.
    pub usable: bool,
    /// Nothing that it is told leaves this machine.
    pub local: bool,
    /// A person added it.
    pub custom: bool,
    /// How prompts reach it now: `acp`, `cli` or `openai`; absent when they cannot.
    pub transport: Option<String>,
    /// The program that was found.
    pub program: Option<PathBuf>,
    /// What the program says its version is.
    pub version: Option<String>,
    /// The program or package that speaks ACP for it, and its version, where it is there.
    pub adapter: Option<String>,
    /// What its own `initialize` answer says it supports: `session/load`, `image`, …
    pub supports: Vec<String>,
    /// Its own name and version out of the `initialize` answer.
    pub introduces_itself: Option<String>,
    /// What is wrong, one sentence.
    pub problem: Option<String>,
    /// What to do about it, one sentence; a command where there is one.
    pub remedy: Option<String>,
}

/// Why a command was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AgentsError {
    /// There is no such agent among those that were added.
    #[error("there is no added agent {0}; `openagents doctor` shows those there are")]
    Unknown(String),
    /// One sentence.
    #[error("{0}")]
    Refused(String),
}

impl From<crate::model::SettingsError> for AgentsError {
    fn from(error: crate::model::SettingsError) -> Self {
        Self::Refused(error.to_string())
    }
}
