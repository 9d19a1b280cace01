//! Log folders of the agents.

use super::{format::Environment, formats, transcript::Provider};
use openagents_core::git;
use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
};

/// Log folders of the agents.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HistoryRoots(BTreeMap<Provider, Vec<PathBuf>>);

impl HistoryRoots {
    /// Reads the environment of this process: the variables that set each agent's folder, and `HOME`. Empty values
    /// count as unset.
    pub fn from_env() -> Self {
        Self::from_lookup(&|name| std::env::var_os(name))
    }

    fn from_lookup(lookup: &dyn Fn(&str) -> Option<OsString>) -> Self {
        let environment = Environment(lookup);
        let roots = |provider| {
            let format = formats::spec(provider);
            let others = (format.other_roots)(&environment);
            (provider, (format.root)(&environment).into_iter().chain(others).collect::<Vec<_>>())
        };
        Self(Provider::ALL.into_iter().map(roots).filter(|(_, roots)| !roots.is_empty()).collect())
    }

    /// Replaces all folders of an agent by one.
    pub fn with(mut self, provider: Provider, root: impl Into<PathBuf>) -> Self {
        self.0.insert(provider, vec![root.into()]);
        self
    }

    /// Returns whether a folder is one of an agent's.
    pub(crate) fn has(&self, provider: Provider, root: &Path) -> bool {
        self.0.get(&provider).is_some_and(|roots| roots.iter().any(|own| own == root))
    }

    /// Returns whether a folder is an agent's, or below one.
    pub fn contains(&self, folder: &Path) -> bool {
        self.iter().any(|(_, root)| folder.starts_with(root) || folder.starts_with(git::real_path(root)))
    }

    /// Returns each folder with its agent.
    pub fn iter(&self) -> impl Iterator<Item = (Provider, &Path)> {
        self.0.iter().flat_map(|(provider, roots)| roots.iter().map(|root| (*provider, root.as_path())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{History, MemoryListingCache, Query};
    use openagents_core::{CancellationToken, budget::Budget};
    use std::{sync::Arc, time::Duration};

    #[test]
    fn roots_follow_environment() {
        let roots = |pairs: &[(&str, &str)]| {
            HistoryRoots::from_lookup(&|name| {
                pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value))
            })
        };
        let of = |pairs: &[(&str, &str)], provider| {
            let all = roots(pairs);
            let own = all.iter().filter(|(it, _)| *it == provider);
            own.map(|(_, root)| root.to_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        type Row<'a> = (&'a [(&'a str, &'a str)], Provider, &'a [&'a str]);
        let rows: &[Row<'_>] = &[
            (&[("HOME", "/h")], Provider::Codex, &["/h/.codex"]),
            (&[("HOME", "/h"), ("CODEX_HOME", "")], Provider::Codex, &["/h/.codex"]),
            (&[("HOME", "/h"), ("CODEX_HOME", "/c")], Provider::Codex, &["/c"]),
            (&[("HOME", "/h")], Provider::ClaudeCode, &["/h/.claude"]),
            (&[("CLAUDE_CONFIG_DIR", "/d")], Provider::ClaudeCode, &["/d"]),
            (&[("HOME", "/h")], Provider::Pi, &["/h/.pi/agent"]),
            (&[("HOME", "/h"), ("PI_CODING_AGENT_DIR", "/p")], Provider::Pi, &["/p"]),
            (&[("HOME", "/h")], Provider::OpenClaw, &["/h/.openclaw", "/h/.clawdbot"]),
            (&[("HOME", "/h"), ("OPENCLAW_STATE_DIR", "/o")], Provider::OpenClaw, &["/o"]),
            (&[("HOME", "/h")], Provider::Cursor, &["/h/.cursor"]),
            (&[("HOME", "/h")], Provider::Droid, &["/h/.factory"]),
            (&[("HOME", "/h")], Provider::Amp, &["/h/.local/share/amp/threads"]),
            (&[("HOME", "/h"), ("XDG_DATA_HOME", "/x")], Provider::Amp, &["/x/amp/threads"]),
            (&[("HOME", "/h"), ("AMP_THREADS_DIR", "/t")], Provider::Amp, &["/t"]),
            (&[("HOME", "/h")], Provider::Opencode, &["/h/.local/share/opencode"]),
            (&[("HOME", "/h"), ("XDG_DATA_HOME", "/x")], Provider::Opencode, &["/x/opencode"]),
            (
                &[("XDG_DATA_HOME", "/x"), ("OPENCODE_DB", "a.db")],
                Provider::Opencode,
                &["/x/opencode", "/x/opencode/a.db"],
            ),
            (&[("OPENCODE_DB", "/d/a.db")], Provider::Opencode, &["/d/a.db"]),
            (&[("OPENCODE_DB", ":memory:")], Provider::Opencode, &[]),
            (&[("HOME", "/h")], Provider::Goose, &["/h/.local/share/goose"]),
            (&[("HOME", "/h"), ("GOOSE_PATH_ROOT", "/g")], Provider::Goose, &["/g/data"]),
            (&[("HOME", "/h")], Provider::Copilot, &["/h/.copilot"]),
            (&[("HOME", "/h"), ("COPILOT_HOME", "/p")], Provider::Copilot, &["/p"]),
            (&[("HOME", "/h")], Provider::Qwen, &["/h/.qwen"]),
            (&[("HOME", "/h"), ("QWEN_HOME", "/q")], Provider::Qwen, &["/q"]),
            (&[("QWEN_HOME", "/q"), ("QWEN_RUNTIME_DIR", "/r")], Provider::Qwen, &["/r"]),
        ];
        for (variables, provider, expected) in rows {
            assert_eq!(of(variables, *provider), *expected, "{variables:?}");
        }
        assert_eq!(roots(&[]), HistoryRoots::default());
        let cline =
            of(&[("HOME", "/h"), ("CLINE_DIR", "/c"), ("CLINE_SESSION_DATA_DIR", "/s")], Provider::Cline);
        assert_eq!(cline[..2], ["/c/data", "/s"]);
        let extension = "Code/User/globalStorage/saoudrizwan.claude-dev";
        for editors in ["/h/.config", "/h/Library/Application Support"] {
            assert!(cline.contains(&format!("{editors}/{extension}")), "{cline:?}");
        }
        assert_eq!(of(&[("HOME", "/h")], Provider::Cline)[0], "/h/.cline/data");
    }

    #[test]
    fn list_reads_every_folder_of_agent() {
        let home = tempfile::tempdir().unwrap();
        for (folder, id) in [(".openclaw", "new"), (".clawdbot", "old")] {
            let sessions = home.path().join(folder).join("agents/main/sessions");
            std::fs::create_dir_all(&sessions).unwrap();
            std::fs::write(sessions.join(format!("{id}.jsonl")), r#"{"type":"session"}"#).unwrap();
        }
        let roots = HistoryRoots::from_lookup(&|name| (name == "HOME").then(|| home.path().into()));
        let budget = Budget::within(Duration::from_secs(60), &CancellationToken::new());
        let query = Query { all: true, ..Query::default() };
        let history = History::new(roots, Arc::new(MemoryListingCache::default()));
        // The second listing takes them from the index.
        for _ in 0..2 {
            let mut ids: Vec<_> = history.list(&query, &budget).rows.into_iter().map(|row| row.id).collect();
            ids.sort();
            assert_eq!(ids, ["new", "old"]);
        }
    }
}
