//! One line for a setting: its risk, and the part of it that is shown.

use super::found::Risk;
use regex::Regex;
use std::sync::LazyLock;

/// Parts of names whose values are run, in lower case.
const PROGRAMS: &[&str] = &[
    "args",
    "bash",
    "cmd",
    "command",
    "editor",
    "enabledplugins",
    "exec",
    "extension",
    "extraknownmarketplaces",
    "formatter",
    "helper",
    "hook",
    "lsp",
    "marketplace",
    "mcp",
    "node_options",
    "notify",
    "package",
    "pager",
    "plugin",
    "powershell",
    "preload",
    "program",
    "run",
    "script",
    "shell",
    "statusline",
    "tool",
];

/// Parts of names whose values set where agents connect to, in lower case.
const REDIRECTS: &[&str] = &["address", "cert", "endpoint", "host", "proxy", "registry", "server", "url"];

/// Endings of names whose values are secret, in lower case.
const SECRETS: &[&str] =
    &["key", "token", "secret", "password", "passwd", "_auth", "authorization", "credential", "credentials"];

static USER_OF_URL: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"://[^/@\s]*@").ok());

/// A setting.
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

    /// Returns the line for an environment variable.
    pub(super) fn variable(name: &str, value: String) -> Self {
        Self { known: Some(risk_of_variable(name)), ..Self::new(name, value) }
    }

    pub(super) fn raw(line: String) -> Self {
        Self::new("", line)
    }

    pub(super) fn text(&self) -> String {
        if self.key.is_empty() { self.value.clone() } else { format!("{}: {}", self.key, self.value) }
    }

    /// Returns whether its value is a command line, judging by its name.
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

fn has_part(name: &str, parts: &[&str]) -> bool {
    let name = name.to_ascii_lowercase();
    parts.iter().any(|part| name.contains(part))
}

/// Returns whether any value with this name is a secret.
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
