//! Log folders of the agents.

use std::{ffi::OsString, path::PathBuf};

/// Log folders of the agents.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HistoryRoots {
    /// `$CODEX_HOME`, else `~/.codex`.
    pub codex: Option<PathBuf>,
    /// `$CLAUDE_CONFIG_DIR`, else `~/.claude`.
    pub claude: Option<PathBuf>,
}

impl HistoryRoots {
    /// Reads the environment of this process: `CODEX_HOME`, `CLAUDE_CONFIG_DIR`, `HOME`. Empty values count as unset.
    pub fn from_env() -> Self {
        Self::from_lookup(&|name| std::env::var_os(name))
    }

    fn from_lookup(lookup: &dyn Fn(&str) -> Option<OsString>) -> Self {
        let folder = |name: &str| lookup(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let home = folder("HOME");
        let beneath_home = |name: &str| home.as_ref().map(|home| home.join(name));
        Self {
            codex: folder("CODEX_HOME").or_else(|| beneath_home(".codex")),
            claude: folder("CLAUDE_CONFIG_DIR").or_else(|| beneath_home(".claude")),
        }
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
        let expected = |codex: Option<&str>, claude: Option<&str>| HistoryRoots {
            codex: codex.map(PathBuf::from),
            claude: claude.map(PathBuf::from),
        };
        assert_eq!(roots(&[]), expected(None, None));
        assert_eq!(roots(&[("HOME", "/h")]), expected(Some("/h/.codex"), Some("/h/.claude")));
        assert_eq!(
            roots(&[("HOME", "/h"), ("CODEX_HOME", "")]),
            expected(Some("/h/.codex"), Some("/h/.claude"))
        );
        assert_eq!(
            roots(&[("CODEX_HOME", "/c"), ("CLAUDE_CONFIG_DIR", "/d"), ("HOME", "/h")]),
            expected(Some("/c"), Some("/d"))
        );
    }
}
