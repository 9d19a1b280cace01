//! The agent settings found in a folder.

use super::digests;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

/// The agent settings in a folder.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentFiles {
    /// In a fixed order: those of the folder, then those of the folders above it in the same repository.
    pub files: Vec<AgentFile>,
    /// All settings were read and can be shown in full. If false, the folder cannot be trusted.
    pub complete: bool,
}

/// A file, or a folder of files, that agents read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentFile {
    /// Relative to the folder, with `/`: `.claude/settings.json`, `../.mcp.json`. Control and format characters are
    /// escaped, here and in `says`.
    pub path: String,
    /// Its purpose.
    pub kind: AgentFileKind,
    /// Its settings, one line each: `hooks.Stop.hooks.command: ./check.sh`. At most 1,000 lines
    /// and 64 KiB for all files.
    pub says: Vec<String>,
    /// SHA-256 of the parts that need a new answer when they change, in hex. Absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// It is new or has changed since the folder was trusted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub changed: bool,
}

/// The purpose of a file.
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
    /// Returns what a person accepts who trusts this in a folder at `place` in the trusted one: a digest of each file
    /// that counts and of where it lies.
    pub fn accepted(&self, place: &Path) -> impl Iterator<Item = String> {
        self.files.iter().filter_map(|file| file.accepted(place))
    }

    /// Marks what no person has accepted, and returns whether there is nothing left to ask. `accepted` is what was
    /// accepted in each trusted folder, with the place of this folder there.
    pub fn mark_changes(&mut self, accepted: &[(PathBuf, BTreeSet<String>)]) -> bool {
        for file in &mut self.files {
            let is_known = |(place, known): &(PathBuf, BTreeSet<String>)| {
                file.accepted(place).is_some_and(|digest| known.contains(&digest))
            };
            file.changed = file.digest.is_some() && !accepted.iter().any(is_known);
        }
        self.complete && self.files.iter().all(|file| !file.changed)
    }
}

impl AgentFile {
    fn accepted(&self, place: &Path) -> Option<String> {
        let (mut at, mut rest) = (place.to_owned(), self.path.as_str());
        while let Some(below) = rest.strip_prefix("../") {
            rest = below;
            // Above the trusted folder.
            if at.file_name().is_none() || !at.pop() {
                at.push("..");
            }
        }
        let digest = self.digest.as_ref()?;
        Some(digests::digest(&[at.join(rest).as_os_str().as_encoded_bytes(), digest.as_bytes()]))
    }
}
