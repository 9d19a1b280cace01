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
    /// In a fixed order: the most dangerous first, then those of the folder before those of the folders above it.
    pub files: Vec<AgentFile>,
    /// All settings were read and can be shown in full. If false, the folder cannot be trusted.
    pub complete: bool,
}

/// A file, or a folder of files, that agents load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentFile {
    /// Relative to the folder, with `/`: `.claude/settings.json`, `../.mcp.json`. Control and format characters are
    /// escaped, here and in `says`.
    pub path: String,
    /// The most dangerous of its effects.
    #[serde(default)]
    pub risk: Risk,
    /// Its purpose: `hooks, MCP servers`.
    #[serde(default)]
    pub does: String,
    /// The names of the programs that load it. Empty if any program may.
    #[serde(default)]
    pub agents: Vec<String>,
    /// Its settings, one line each, the most dangerous first: `hooks.Stop.hooks.command: ./check.sh`. At most 1,000 lines
    /// and 64 KiB for all files.
    pub says: Vec<String>,
    /// SHA-256 of the parts that need a new answer when they change, in hex. Absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// It is new or has changed since the folder was trusted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub changed: bool,
}

/// An effect of a file on agents, the most dangerous first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Risk {
    /// It starts programs, or decides what may run.
    #[default]
    Programs,
    /// It decides where agents send prompts and code, and from where they load packages.
    Redirects,
    /// Text for the model.
    Instructions,
}

impl Risk {
    /// All of them, the most dangerous first.
    pub const ALL: [Self; 3] = [Self::Programs, Self::Redirects, Self::Instructions];

    /// Returns the heading of files with this risk.
    pub fn heading(self) -> &'static str {
        match self {
            Self::Programs => "Programs, and what may run:",
            Self::Redirects => "Where agents connect to:",
            Self::Instructions => "Instructions for the model:",
        }
    }
}

impl AgentFiles {
    /// Returns the digests that the user accepts by trusting these files in a folder at `place` in the trusted one: one
    /// for each file that counts, with its location.
    pub fn accepted(&self, place: &Path) -> impl Iterator<Item = String> {
        self.files.iter().filter_map(|file| file.accepted(place))
    }

    /// Marks the files that the user has not accepted, and returns whether nothing is left to ask. `accepted` has the
    /// digests accepted in each trusted folder, with the place of this folder there.
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
