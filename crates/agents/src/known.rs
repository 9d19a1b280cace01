//! The built-in agents, which are supported without being added.
//!
//! Each row was checked against the page linked above it, and all except goose also against the programs themselves
//! (codex 0.169, codex-acp 2.6, claude 2.1.330, claude-agent-acp 0.101, gemini 0.61, copilot 1.0.102, opencode
//! 1.18.33, qwen 0.24.4): `tests/real/agents.rs`.

use crate::asking::{AskingLevel, LevelSetting};
use openagents_core::{
    agent_ids::{CLAUDE_CODE, CODEX},
    update::Asking,
};
use openagents_transcripts::retention::Retention;
use std::collections::BTreeMap;

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct KnownAgent {
    pub(crate) id: &'static str,
    pub(crate) name: &'static str,
    /// The program, which prints its version with `--version`.
    pub(crate) program: &'static str,
    pub(crate) speaks: Speaks,
    /// Variables the agent is started with, whatever the environment has.
    pub(crate) variables: &'static [(&'static str, &'static str)],
    /// Variables the agent is started with unless the environment sets them.
    pub(crate) defaults: &'static [(&'static str, &'static str)],
    pub(crate) asks: AskingLevel,
    pub(crate) retention: Option<Retention>,
    /// Whether the agent survives an error from `fs/read_text_file`. Gemini CLI reads each file before it writes it,
    /// and takes any error as the end of the tool, even for a file that does not exist yet.
    pub(crate) reads_files_here: bool,
    /// Whether the agent's sessions survive `session/load`. Gemini CLI writes an empty history over the session that
    /// it loads, and deletes the file at its next start (google-gemini/gemini-cli#28775).
    pub(crate) loads: bool,
    /// The methods for earlier sessions that it is known to have, in the versions above; what it says itself counts once it
    /// was started.
    pub(crate) sessions: &'static [&'static str],
    pub(crate) install: Install,
    pub(crate) log_in: LogIn,
}

/// The way an agent speaks ACP over standard input and output.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Speaks {
    /// The program itself, with these arguments.
    Itself(&'static [&'static str]),
    /// A separate program, from an npm package that contains the agent it drives.
    Adapter { program: &'static str },
}

/// The program with which the user logs in, and its arguments.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum LogIn {
    /// The agent's own program.
    Program(&'static [&'static str]),
    /// The program that speaks ACP.
    Speaker(&'static [&'static str]),
}

/// How an agent comes onto this machine.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Install {
    /// As the npm package of this entry of the ACP registry, which has about this size on disk: measured on Linux,
    /// x86-64, with the versions above.
    Package { registry: &'static str, megabytes: u64 },
    /// With a command of the user's.
    Command(&'static str),
}

const RESUME: &str = "session/resume";
const LOAD: &str = "session/load";
const FORK: &str = "session/fork";

/// Codex and Claude Code, then the others by name.
pub(crate) const KNOWN: [KnownAgent; 7] = [
    // https://github.com/agentclientprotocol/codex-acp#readme
    KnownAgent {
        id: CODEX,
        name: "Codex",
        program: "codex",
        speaks: Speaks::Adapter { program: "codex-acp" },
        // Without this variable, a session starts in a mode in which a model approves its actions instead of the user.
        variables: &[],
        defaults: &[("INITIAL_AGENT_MODE", "read-only")],
        asks: AskingLevel::Settings(&[LevelSetting::mode(
            "read-only",
            &[
                ("workspace-write", Asking::Edits),
                ("agent", Asking::Auto),
                ("agent-full-access", Asking::Bypass),
            ],
        )]),
        retention: None,
        reads_files_here: true,
        loads: true,
        sessions: &[RESUME, LOAD, FORK],
        install: Install::Package { registry: "codex-acp", megabytes: 479 },
        log_in: LogIn::Program(&["login"]),
    },
    // https://github.com/agentclientprotocol/claude-agent-acp#readme
    KnownAgent {
        id: CLAUDE_CODE,
        name: "Claude Code",
        program: "claude",
        speaks: Speaks::Adapter { program: "claude-agent-acp" },
        variables: &[],
        defaults: &[],
        asks: AskingLevel::Settings(&[LevelSetting::mode(
            "default",
            &[
                ("plan", Asking::Plan),
                ("acceptEdits", Asking::Edits),
                ("auto", Asking::Auto),
                ("dontAsk", Asking::Auto),
                ("bypassPermissions", Asking::Bypass),
            ],
        )]),
        retention: Some(Retention::ClaudeCode),
        reads_files_here: true,
        loads: true,
        sessions: &[RESUME, LOAD, FORK],
        install: Install::Package { registry: "claude-acp", megabytes: 421 },
        log_in: LogIn::Speaker(&["--cli", "auth", "login"]),
    },
    // https://geminicli.com/docs/cli/acp-mode/
    KnownAgent {
        id: "gemini",
        name: "Gemini CLI",
        program: "gemini",
        speaks: Speaks::Itself(&["--acp"]),
        variables: &[],
        defaults: &[],
        asks: AskingLevel::Settings(&[LevelSetting::mode(
            "default",
            &[("plan", Asking::Plan), ("autoEdit", Asking::Edits), ("yolo", Asking::Bypass)],
        )]),
        retention: Some(Retention::GeminiCli),
        reads_files_here: false,
        loads: false,
        sessions: &[],
        install: Install::Package { registry: "gemini", megabytes: 105 },
        log_in: LogIn::Program(&[]),
    },
    // https://docs.github.com/en/copilot/reference/copilot-cli-reference/acp-server
    KnownAgent {
        id: "copilot",
        name: "GitHub Copilot",
        program: "copilot",
        speaks: Speaks::Itself(&["--acp", "--stdio"]),
        // When set to `1`, it allows everything, and no session setting shows it.
        variables: &[("COPILOT_ALLOW_ALL", "false")],
        defaults: &[],
        asks: AskingLevel::Settings(&[
            LevelSetting::mode(
                "https://agentclientprotocol.com/protocol/session-modes#agent",
                &[
                    ("https://agentclientprotocol.com/protocol/session-modes#plan", Asking::Plan),
                    ("https://agentclientprotocol.com/protocol/session-modes#autopilot", Asking::Auto),
                ],
            ),
            // An organization may forbid this setting; it is then not offered.
            LevelSetting {
                id: "allow_all",
                asks: "off",
                others: &[("on", Asking::Bypass)],
                is_always_offered: false,
            },
        ]),
        retention: None,
        reads_files_here: true,
        loads: true,
        sessions: &[],
        install: Install::Package { registry: "github-copilot-cli", megabytes: 198 },
        log_in: LogIn::Program(&["login"]),
    },
    // https://block.github.io/goose/docs/guides/acp-clients
    KnownAgent {
        id: "goose",
        name: "goose",
        program: "goose",
        speaks: Speaks::Itself(&["acp"]),
        variables: &[],
        defaults: &[],
        asks: AskingLevel::Settings(&[LevelSetting::mode(
            "approve",
            &[("chat", Asking::Plan), ("smart_approve", Asking::Auto), ("auto", Asking::Bypass)],
        )]),
        retention: None,
        reads_files_here: true,
        loads: true,
        sessions: &[],
        install: Install::Command("brew install block-goose-cli"),
        log_in: LogIn::Program(&["configure"]),
    },
    // https://opencode.ai/docs/cli/acp/
    KnownAgent {
        id: "opencode",
        name: "opencode",
        program: "opencode",
        speaks: Speaks::Itself(&["acp"]),
        variables: &[("OPENCODE_PERMISSION", OPENCODE_PERMISSION)],
        defaults: &[("OPENCODE_CONFIG_CONTENT", OPENCODE_CONFIG)],
        asks: AskingLevel::Variables,
        retention: None,
        reads_files_here: true,
        loads: true,
        sessions: &[RESUME, LOAD, FORK],
        install: Install::Package { registry: "opencode", megabytes: 371 },
        log_in: LogIn::Program(&["auth", "login"]),
    },
    // https://github.com/agentclientprotocol/registry/blob/main/qwen-code/agent.json
    KnownAgent {
        id: "qwen",
        name: "Qwen Code",
        program: "qwen",
        speaks: Speaks::Itself(&["--acp"]),
        variables: &[],
        defaults: &[],
        asks: AskingLevel::Settings(&[LevelSetting::mode(
            "default",
            &[
                ("plan", Asking::Plan),
                ("auto-edit", Asking::Edits),
                ("auto", Asking::Auto),
                ("yolo", Asking::Bypass),
            ],
        )]),
        retention: None,
        reads_files_here: true,
        loads: true,
        sessions: &[RESUME, LOAD],
        install: Install::Package { registry: "qwen-code", megabytes: 159 },
        log_in: LogIn::Program(&["auth"]),
    },
];

/// opencode allows every tool unless its settings say otherwise. This variable is merged over the settings, and the
/// last entry that matches a tool applies. It asks for the tools that change something or leave the machine, and for
/// those of MCP servers, whose names are `SERVER_TOOL`. Read-only tools keep the user's own settings. Sources:
/// <https://opencode.ai/docs/permissions> and `Config.loadInstanceState` of opencode 1.18.33.
const OPENCODE_PERMISSION: &str =
    r#"{"*_*":"ask","bash":"ask","edit":"ask","webfetch":"ask","websearch":"ask","codesearch":"ask"}"#;

/// The settings of opencode's default agent are applied after [`OPENCODE_PERMISSION`].
const OPENCODE_CONFIG: &str = r#"{"agent":{"build":{"permission":{"*_*":"ask","bash":"ask","edit":"ask","webfetch":"ask","websearch":"ask","codesearch":"ask"}}}}"#;

impl KnownAgent {
    /// Returns the variables to add to an environment; `has` returns whether it contains a name.
    pub(crate) fn added(&self, has: impl Fn(&str) -> bool) -> BTreeMap<String, String> {
        let missing = self.defaults.iter().filter(|(name, _)| !has(name));
        let added = missing.chain(self.variables);
        added.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    /// The id of its package in the registry, and about its bytes on disk.
    pub(crate) fn package(&self) -> Option<(&'static str, u64)> {
        match self.install {
            Install::Package { registry, megabytes } => Some((registry, megabytes * 1_000_000)),
            Install::Command(_) => None,
        }
    }

    /// The clause that says how to install it.
    pub(crate) fn install_remedy(&self) -> String {
        match self.install {
            Install::Package { .. } => {
                format!("install it in Settings → Agents, or run `openagents agents install {}`", self.id)
            }
            Install::Command(command) => format!("run `{command}`"),
        }
    }

    /// The name of the program that speaks ACP, and its arguments.
    pub(crate) fn speaker(&self) -> (&'static str, &'static [&'static str]) {
        match self.speaks {
            Speaks::Itself(args) => (self.program, args),
            Speaks::Adapter { program } => (program, &[]),
        }
    }

    /// The name of the program with which the user logs in, and its arguments.
    pub(crate) fn login_program(&self) -> (&'static str, &'static [&'static str]) {
        match self.log_in {
            LogIn::Program(args) => (self.program, args),
            LogIn::Speaker(args) => (self.speaker().0, args),
        }
    }

    /// Returns whether the picker shows the agent even if it is not installed.
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
    fn known_rows_are_complete() {
        let ids: BTreeSet<_> = KNOWN.iter().map(|known| known.id).collect();
        assert_eq!(ids.len(), KNOWN.len());
        for known in &KNOWN {
            assert!(!known.id.starts_with(CUSTOM_PREFIX), "{}", known.id);
            for text in [known.name, known.program] {
                assert!(!text.is_empty(), "{}", known.id);
            }
        }
    }

    #[test]
    fn known_agents_are_made_to_ask() {
        for known in &KNOWN {
            match known.asks {
                AskingLevel::Settings(settings) => {
                    assert!(settings.iter().any(|setting| setting.is_always_offered), "{}", known.id);
                }
                AskingLevel::Variables => assert!(!known.variables.is_empty(), "{}", known.id),
                AskingLevel::ItsOwn => panic!("{} may act without asking you", known.id),
            }
        }
        for json in [OPENCODE_PERMISSION, OPENCODE_CONFIG] {
            let rules: serde_json::Value = serde_json::from_str(json).unwrap();
            let rules =
                rules.pointer("/agent/build/permission").unwrap_or(&rules).as_object().unwrap().clone();
            assert!(rules.contains_key("bash") && rules.values().all(|rule| rule == "ask"), "{json}");
        }
    }

    #[test]
    fn added_variables_override_all_but_defaults() {
        let opencode = KNOWN.iter().find(|known| known.id == "opencode").unwrap();
        let names = |has: bool| opencode.added(|_| has).into_keys().collect::<Vec<_>>();
        assert_eq!(names(false), ["OPENCODE_CONFIG_CONTENT", "OPENCODE_PERMISSION"]);
        assert_eq!(names(true), ["OPENCODE_PERMISSION"]);
        assert_eq!(KNOWN[0].added(|_| true), BTreeMap::new());
    }

    #[test]
    fn gemini_never_loads_sessions() {
        let never: Vec<_> = KNOWN.iter().filter(|known| !known.loads).map(|known| known.id).collect();
        assert_eq!(never, ["gemini"]);
    }

    #[test]
    fn known_starts_with_codex_and_claude_code() {
        assert_eq!([KNOWN[0].id, KNOWN[1].id], [CODEX, CLAUDE_CODE]);
        assert!(KNOWN[2..].is_sorted_by_key(|known| known.name.to_lowercase()));
    }
}
