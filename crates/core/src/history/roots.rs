//! Log folders of the agents.

use super::{environment::Environment, formats, transcript::Provider};
use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
};

/// Log folders of the agents.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HistoryRoots(BTreeMap<Provider, PathBuf>);

impl HistoryRoots {
    /// Reads the environment of this process: the variables by which each agent places its folder, and `HOME`. Empty
    /// values count as unset.
    pub fn from_env() -> Self {
        Self::from_lookup(&|name| std::env::var_os(name))
    }

    fn from_lookup(lookup: &dyn Fn(&str) -> Option<OsString>) -> Self {
        let environment = Environment(lookup);
        let root = |provider| Some((provider, formats::of(provider).root(&environment)?));
        Self(Provider::ALL.into_iter().filter_map(root).collect())
    }

    /// Adds or replaces the folder of an agent.
    pub fn with(mut self, provider: Provider, root: impl Into<PathBuf>) -> Self {
        self.0.insert(provider, root.into());
        self
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Provider, &Path)> {
        self.0.iter().map(|(provider, root)| (*provider, root.as_path()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_combination() {
        let roots = |pairs: &[(&str, &str)]| {
            HistoryRoots::from_lookup(&|name| {
                pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value))
            })
        };
        let of = |pairs: &[(&str, &str)], provider| {
            roots(pairs).iter().find(|(it, _)| *it == provider).map(|(_, root)| root.to_owned())
        };
        type Row<'a> = (&'a [(&'a str, &'a str)], Provider, &'a str);
        let rows: [Row<'_>; 10] = [
            (&[("HOME", "/h")], Provider::Codex, "/h/.codex"),
            (&[("HOME", "/h"), ("CODEX_HOME", "")], Provider::Codex, "/h/.codex"),
            (&[("HOME", "/h"), ("CODEX_HOME", "/c")], Provider::Codex, "/c"),
            (&[("HOME", "/h")], Provider::ClaudeCode, "/h/.claude"),
            (&[("CLAUDE_CONFIG_DIR", "/d")], Provider::ClaudeCode, "/d"),
            (&[("HOME", "/h")], Provider::Copilot, "/h/.copilot"),
            (&[("HOME", "/h"), ("COPILOT_HOME", "/p")], Provider::Copilot, "/p"),
            (&[("HOME", "/h")], Provider::Qwen, "/h/.qwen"),
            (&[("HOME", "/h"), ("QWEN_HOME", "/q")], Provider::Qwen, "/q"),
            (&[("QWEN_HOME", "/q"), ("QWEN_RUNTIME_DIR", "/r")], Provider::Qwen, "/r"),
        ];
        for (variables, provider, expected) in rows {
            assert_eq!(of(variables, provider).as_deref(), Some(Path::new(expected)), "{variables:?}");
        }
        assert_eq!(roots(&[]), HistoryRoots::default());
    }
}
