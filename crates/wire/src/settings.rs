//! What the user decides on this machine: trusted folders, privacy, and the routing of prompts.

use agent_client_protocol_schema::v1::SessionConfigOption;
use openagents_core::{trust::AgentFiles, update::Decision};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use ts_rs::TS;

/// Params of the methods that return a snapshot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct Watch {
    /// Send every later snapshot as a notification.
    #[ts(optional, as = "Option<bool>")]
    pub watch: bool,
}

/// The folders in which agents may start.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct TrustSnapshot {
    /// In the order of their paths.
    pub workspaces: Vec<TrustedWorkspace>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct TrustedWorkspace {
    /// Canonical.
    pub path: PathBuf,
    /// Name of the client on which it was trusted.
    pub by: String,
    /// When it was last trusted.
    pub at: i64,
}

/// Params of `_openagents/trust/add` and `_openagents/trust/revoke`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct WorkspacePath {
    /// The folder.
    pub path: PathBuf,
    /// The agent settings that the user saw before trusting the folder; the call fails if they have changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<AgentFiles>,
}

/// What trusting a folder did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct TrustResult {
    #[serde(flatten)]
    pub snapshot: TrustSnapshot,
    pub brings: AgentFiles,
    /// The trusted folder that covers it: itself, or one above it.
    pub covered_by: PathBuf,
}

/// What models and agents may read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct PrivacySnapshot {
    /// One row for each kind of data.
    pub rows: Vec<PrivacyRow>,
}

/// Who may read one kind of data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct PrivacyRow {
    /// The kind of data.
    #[ts(type = "'files' | 'history' | 'other_history'")]
    pub what: String,
    pub cells: Vec<PrivacyCell>,
}

/// Whether one reader may read one kind of data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct PrivacyCell {
    #[ts(type = "'local' | 'elsewhere' | 'hosted'")]
    pub reader: String,
    pub allowed: bool,
    /// The name of its switch; absent if it cannot be changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switch: Option<String>,
}

/// Params of `_openagents/privacy/set`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct PrivacyChange {
    /// [`PrivacyCell::switch`].
    pub switch: String,
    /// Its new position.
    pub on: bool,
}

/// The last routing decisions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Decisions {
    /// Newest first.
    pub decisions: Vec<PastDecision>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PastDecision {
    pub ts: i64,
    pub session_id: String,
    /// The first 200 characters of the prompt.
    pub prompt: String,
    pub decision: Decision,
}

/// Params of `_openagents/agents/login_screen`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct LoginScreenQuery {
    /// The agent's id.
    pub id: String,
    /// The version of the screen that the client has; 0 for none.
    pub since: u64,
}

/// Params of `_openagents/agents/options`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct AgentOptionsQuery {
    /// Id of the agent.
    pub agent: String,
    /// The workspace.
    pub cwd: PathBuf,
}

/// The options that an agent is expected to offer in a new session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AgentOptions {
    /// As in `session/new`. Empty if the agent was never started here.
    #[ts(type = "SessionConfigOption[]")]
    pub config_options: Vec<SessionConfigOption>,
}
