//! The agents that are supported without being added.
//!
//! Each row was checked against the page above it, Codex and Claude Code against the programs themselves (codex 0.169,
//! codex-acp 2.6, claude 2.1.330, claude-agent-acp 0.100).

use openagents_core::agent_ids::{CLAUDE_CODE, CODEX};
use std::collections::BTreeMap;

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct KnownAgent {
    /// Its provider id and mode.
    pub(crate) id: &'static str,
    pub(crate) name: &'static str,
    /// The program, which says its version with `--version`.
    pub(crate) program: &'static str,
    pub(crate) speaks: Speaks,
    /// Variables it is started with unless the environment sets them.
    pub(crate) variables: &'static [(&'static str, &'static str)],
    pub(crate) install: &'static str,
    pub(crate) log_in: &'static str,
}

/// The way an agent speaks ACP over standard input and output.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Speaks {
    /// The program itself, with these arguments.
    Itself(&'static [&'static str]),
    /// Another program, from an npm package that contains the agent it drives.
    Adapter {
        /// Its name in the PATH.
        program: &'static str,
        /// The package.
        package: &'static str,
    },
}

/// Codex and Claude Code, then the others by name.
pub(crate) const KNOWN: [KnownAgent; 7] = [
    // https://github.com/agentclientprotocol/codex-acp#readme
    KnownAgent {
        id: CODEX,
        name: "Codex",
        program: "codex",
        speaks: Speaks::Adapter { program: "codex-acp", package: "@agentclientprotocol/codex-acp" },
        // Without it, a Codex model approves its actions ("auto review") instead of a person.
        variables: &[("INITIAL_AGENT_MODE", "read-only")],
        install: "npm install -g @openai/codex",
        log_in: "codex login",
    },
    // https://github.com/agentclientprotocol/claude-agent-acp#readme
    KnownAgent {
        id: CLAUDE_CODE,
        name: "Claude Code",
        program: "claude",
        speaks: Speaks::Adapter {
            program: "claude-agent-acp",
            package: "@agentclientprotocol/claude-agent-acp",
        },
        variables: &[],
        install: "npm install -g @anthropic-ai/claude-code",
        log_in: "claude auth login",
    },
    // https://geminicli.com/docs/cli/acp-mode/
    KnownAgent {
        id: "gemini",
        name: "Gemini CLI",
        program: "gemini",
        speaks: Speaks::Itself(&["--acp"]),
        variables: &[],
        install: "npm install -g @google/gemini-cli",
        log_in: "gemini",
    },
    // https://docs.github.com/en/copilot/reference/copilot-cli-reference/acp-server
    KnownAgent {
        id: "copilot",
        name: "GitHub Copilot",
        program: "copilot",
        speaks: Speaks::Itself(&["--acp", "--stdio"]),
        variables: &[],
        install: "npm install -g @github/copilot",
        log_in: "copilot login",
    },
    // https://block.github.io/goose/docs/guides/acp-clients
    KnownAgent {
        id: "goose",
        name: "goose",
        program: "goose",
        speaks: Speaks::Itself(&["acp"]),
        variables: &[],
        install: "brew install block-goose-cli",
        log_in: "goose configure",
    },
    // https://opencode.ai/docs/cli/acp/
    KnownAgent {
        id: "opencode",
        name: "opencode",
        program: "opencode",
        speaks: Speaks::Itself(&["acp"]),
        variables: &[],
        install: "npm install -g opencode-ai",
        log_in: "opencode auth login",
    },
    // https://github.com/agentclientprotocol/registry/blob/main/qwen-code/agent.json
    KnownAgent {
        id: "qwen",
        name: "Qwen Code",
        program: "qwen",
        speaks: Speaks::Itself(&["--acp"]),
        variables: &[],
        install: "npm install -g @qwen-code/qwen-code",
        log_in: "qwen auth",
    },
];

impl KnownAgent {
    pub(crate) fn added(&self, has: impl Fn(&str) -> bool) -> BTreeMap<String, String> {
        let missing = self.variables.iter().filter(|(name, _)| !has(name));
        missing.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    /// Returns whether the picker shows it even if it is not installed.
    pub(crate) fn is_always_offered(&self) -> bool {
        matches!(self.speaks, Speaks::Adapter { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use openagents_core::agent_ids::CUSTOM_PREFIX;
    use std::collections::BTreeSet;

    #[test]
    fn every_row_is_whole() {
        let ids: BTreeSet<_> = KNOWN.iter().map(|known| known.id).collect();
        assert_eq!(ids.len(), KNOWN.len());
        for known in &KNOWN {
            assert!(!known.id.starts_with(CUSTOM_PREFIX), "{}", known.id);
            for text in [known.name, known.program, known.install, known.log_in] {
                assert!(!text.is_empty(), "{}", known.id);
            }
        }
    }

    #[test]
    fn codex_asks_for_approval_by_default() {
        let expected = [("INITIAL_AGENT_MODE".to_owned(), "read-only".to_owned())];
        assert_eq!(KNOWN[0].added(|_| false), expected.into());
        assert_eq!(KNOWN[0].added(|name| name == "INITIAL_AGENT_MODE"), BTreeMap::new());
        assert_eq!(KNOWN[1].added(|_| false), BTreeMap::new());
    }

    #[test]
    fn the_order_is_that_of_the_snapshot() {
        assert_eq!([KNOWN[0].id, KNOWN[1].id], [CODEX, CLAUDE_CODE]);
        assert!(KNOWN[2..].is_sorted_by_key(|known| known.name.to_lowercase()));
    }
}
