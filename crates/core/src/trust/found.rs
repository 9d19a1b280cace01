//! What was found in a folder.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// What a folder brings to agents.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentFiles {
    /// In a fixed order: those of the folder, then those of the folders above it in the same repository.
    pub files: Vec<AgentFile>,
    /// Everything was read and is told whole. Otherwise the folder cannot be trusted: something would go unseen, now or
    /// when it changes.
    pub complete: bool,
}

/// A file, or a folder of files, that agents read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentFile {
    /// Relative to the folder, with `/`: `.claude/settings.json`, `../.mcp.json`. Control and format characters are
    /// escaped, here and in `says`.
    pub path: String,
    /// What it is for.
    pub kind: AgentFileKind,
    /// What it makes agents do, one line for each setting: `hooks.Stop.hooks.command: ./check.sh`. At most 1,000 lines
    /// and 64 KiB for all files.
    pub says: Vec<String>,
    /// SHA-256 of what counts, in hex; equal content has equal digests wherever it lies. Absent if a change needs no new
    /// answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// It is new or has changed since the folder was trusted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub changed: bool,
}

/// What a file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentFileKind {
    /// Settings, with hooks and other commands that run by themselves.
    Settings,
    /// MCP servers, which are programs.
    Servers,
    /// A folder with settings of an agent.
    Folder,
    /// Instructions: text for the model. A change needs no new answer.
    Instructions,
}

impl AgentFiles {
    /// Returns the digests of everything that counts.
    pub fn digests(&self) -> impl Iterator<Item = &str> {
        self.files.iter().filter_map(|file| file.digest.as_deref())
    }

    /// Returns whether a person has seen everything that counts. `accepted` are the digests that they saw.
    pub fn are_accepted(&self, accepted: &BTreeSet<String>) -> bool {
        self.complete && self.digests().all(|digest| accepted.contains(digest))
    }

    /// Marks what is not among `accepted`.
    pub fn mark_changes(&mut self, accepted: &BTreeSet<String>) {
        for file in &mut self.files {
            file.changed = file.digest.as_ref().is_some_and(|digest| !accepted.contains(digest));
        }
    }
}
