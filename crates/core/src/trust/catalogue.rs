//! The files and folders that agents read in the folder that they run in.

use super::found::AgentFileKind;

/// How an entry is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// Claude Code's settings.
    Claude,
    /// Claude Code's settings of one person: it adds to the permissions there whenever the person answers "always".
    ClaudeLocal,
    /// MCP servers as `{"mcpServers": {…}}`, among other settings.
    Servers,
    /// Every file in the folder.
    Tree,
    /// Listed only.
    Text,
}

impl Format {
    pub(super) fn kind(self) -> AgentFileKind {
        match self {
            Self::Claude | Self::ClaudeLocal => AgentFileKind::Settings,
            Self::Servers => AgentFileKind::Servers,
            Self::Tree => AgentFileKind::Folder,
            Self::Text => AgentFileKind::Instructions,
        }
    }
}

/// In the order in which they are shown.
pub(super) const ENTRIES: &[(&str, Format)] = &[
    // https://docs.claude.com/en/docs/claude-code/settings. Skills, agents and commands may carry hooks and servers.
    (".claude/settings.json", Format::Claude),
    (".claude/settings.local.json", Format::ClaudeLocal),
    (".mcp.json", Format::Servers),
    (".claude/agents", Format::Tree),
    (".claude/commands", Format::Tree),
    (".claude/skills", Format::Tree),
    // https://developers.openai.com/codex/config-basic: config.toml, hooks.json, rules, skills.
    (".codex", Format::Tree),
    // Skills of any agent.
    (".agents", Format::Tree),
    // https://geminicli.com/docs/reference/configuration, https://qwenlm.github.io/qwen-code-docs
    (".gemini", Format::Tree),
    (".qwen", Format::Tree),
    // https://docs.github.com/en/copilot/reference/customization-cheat-sheet
    (".github/hooks", Format::Tree),
    (".github/agents", Format::Tree),
    (".github/skills", Format::Tree),
    (".github/copilot", Format::Tree),
    (".github/mcp.json", Format::Servers),
    // https://block.github.io/goose/docs/guides/using-goosehints
    (".goose", Format::Tree),
    (".goosehints", Format::Text),
    // https://opencode.ai/docs/config: plugins in the folder are programs.
    ("opencode.json", Format::Servers),
    ("opencode.jsonc", Format::Servers),
    (".opencode", Format::Tree),
    ("AGENTS.md", Format::Text),
    ("CLAUDE.md", Format::Text),
    ("CLAUDE.local.md", Format::Text),
    ("GEMINI.md", Format::Text),
    ("QWEN.md", Format::Text),
    (".github/copilot-instructions.md", Format::Text),
];
