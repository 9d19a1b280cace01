//! The agent settings found in a folder.

use regex::Regex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::LazyLock,
};
use ts_rs::TS;

/// Parts of names whose values are run, in lower case.
const PROGRAMS: &str = "args bash cmd command editor enabledplugins exec extension extraknownmarketplaces \
    formatter helper hook lsp marketplace mcp node_options notify package pager plugin powershell preload \
    program run script shell statusline tool";

/// Parts of names whose values set where agents connect to, in lower case.
const REDIRECTS: &str = "address cert endpoint host proxy registry server url";

/// Endings of names whose values are secret, in lower case.
const SECRETS: &[&str] =
    &["key", "token", "secret", "password", "passwd", "_auth", "authorization", "credential", "credentials"];

static USER_OF_URL: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"://[^/@\s]*@").ok());

/// The agent settings in a folder.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct AgentFiles {
    /// In a fixed order: the most dangerous first, then those of the folder before those of the folders above it.
    pub files: Vec<AgentFile>,
    /// All settings were read and can be shown in full. If false, the folder cannot be trusted.
    pub complete: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, TS)]
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
        Some(hash_parts(&[at.join(rest).as_os_str().as_encoded_bytes(), digest.as_bytes()]))
    }
}

/// Returns the digest of a file. If it was not read to its end, `rest` adds its size and modification time.
pub(super) fn file_digest(bytes: &[u8], rest: Option<(u64, u128)>) -> Vec<u8> {
    let rest = rest.map(|(size, modified)| format!("{size} {modified}"));
    let digest = hash_parts(&[bytes, rest.unwrap_or_default().as_bytes()]);
    digest.into_bytes()
}

/// Returns the SHA-256 of several parts, in hex. Their lengths are hashed too, so that no other parts give the same
/// digest.
pub(super) fn hash_parts(parts: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SettingLine {
    /// `hooks.Stop.hooks.command`; empty for a line whose syntax is not known.
    pub(super) key: String,
    pub(super) value: String,
    /// It may name scripts in the folder.
    pub(super) may_run: bool,
    /// The risk, if the name of a variable determines it.
    pub(super) known: Option<Risk>,
}

impl SettingLine {
    pub(super) fn new(key: &str, value: String) -> Self {
        Self { key: key.to_owned(), value, may_run: true, known: None }
    }

    pub(super) fn variable(name: &str, value: String) -> Self {
        Self { known: Some(risk_of_variable(name)), ..Self::new(name, value) }
    }

    pub(super) fn raw(line: String) -> Self {
        Self::new("", line)
    }

    pub(super) fn text(&self) -> String {
        if self.key.is_empty() { self.value.clone() } else { format!("{}: {}", self.key, self.value) }
    }

    pub(super) fn is_command(&self) -> bool {
        self.may_run && (self.key.is_empty() || has_part(&self.key, PROGRAMS))
    }

    pub(super) fn risk(&self) -> Risk {
        match self.known {
            Some(risk) => risk,
            None if self.is_command() => Risk::Programs,
            None if self.value.contains("://") || has_part(&self.key, REDIRECTS) => Risk::Redirects,
            None => Risk::Instructions,
        }
    }
}

pub(super) fn risk_of_variable(name: &str) -> Risk {
    // npm writes `node-options`.
    let upper = name.replace('-', "_").to_ascii_uppercase();
    let is_loader = |prefix: &&str| upper.starts_with(prefix);
    let loads = ["LD_", "DYLD_", "BASH_", "BUN_", "GIT_", "PYTHON", "PERL5", "RUBY", "NODE_"];
    let runs = ["PATH", "ENV", "SHELL", "EDITOR", "VISUAL", "BROWSER", "IFS"];
    let lower = name.to_ascii_lowercase();
    if loads.iter().any(is_loader) || runs.contains(&upper.as_str()) || has_part(&lower, PROGRAMS) {
        return Risk::Programs;
    }
    let redirects = ["_dir", "_home", "config", "model", "sandbox", "trust", "yolo", "settings"];
    let is_redirect = has_part(&lower, REDIRECTS) || redirects.iter().any(|part| lower.contains(part));
    if is_redirect { Risk::Redirects } else { Risk::Instructions }
}

fn has_part(name: &str, parts: &str) -> bool {
    let name = name.to_ascii_lowercase();
    parts.split(' ').any(|part| name.contains(part))
}

pub(super) fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRETS.iter().any(|end| name.ends_with(end))
}

/// Returns a value without its secrets, because a question is stored, and shown on other devices. Values that run are
/// shown.
pub(super) fn shown_value(name: &str, value: &str) -> String {
    let is_variable =
        [".env.", ".environment.", ".headers.", ".http_headers."].iter().any(|part| name.contains(part));
    let is_word = |c: char| c.is_ascii_alphanumeric() || "-_+=. ".contains(c);
    if is_variable && is_secret(name) && value.len() >= 12 && value.chars().all(is_word) {
        return "(hidden)".to_owned();
    }
    without_user(value)
}

/// Removes user and password from addresses.
pub(super) fn without_user(value: &str) -> String {
    match USER_OF_URL.as_ref() {
        Some(user) => user.replace_all(value, "://…@").into_owned(),
        None => value.to_owned(),
    }
}
