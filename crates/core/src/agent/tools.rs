//! MCP servers for agents.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use ts_rs::TS;

/// An MCP server that agents get in a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ToolServer {
    /// 1 to 64 of `a-z 0-9 - _`, unique in the workspace. Agents show it before the names of its tools.
    pub name: String,
    /// The ids of the agents that get it; empty means all.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub agents: BTreeSet<String>,
    /// How it is reached.
    #[serde(flatten)]
    pub kind: ToolServerKind,
}

/// How an MCP server is reached. Secrets come from the environment of the user's login shell and are never stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "kind", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ToolServerKind {
    /// `openagents mcp`: finds code in the workspace, and reads its past sessions if hosted agents may.
    Openagents,
    /// A program that the agent starts.
    Command {
        /// A name that is looked up in `PATH`, or an absolute path.
        command: String,
        #[serde(default)]
        args: Vec<String>,
        /// Names of the environment variables that it gets in addition to the agent's.
        #[serde(default)]
        variables: Vec<String>,
    },
    Http {
        /// `https://…`, or `http://` on this machine.
        url: String,
        /// The environment variable that holds a header's value, by the header's name.
        #[serde(default)]
        headers: BTreeMap<String, String>,
    },
}

impl ToolServer {
    /// Returns whether an agent gets it.
    pub fn is_for(&self, agent: &str) -> bool {
        self.agents.is_empty() || self.agents.contains(agent)
    }
}
