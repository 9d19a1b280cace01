//! The files and folders that agents read in the folder that they run in.

use super::found::AgentFileKind;

/// The format of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileFormat {
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

impl FileFormat {
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
pub(super) const ENTRIES: &[(&str, FileFormat)] = &[
    // https://docs.claude.com/en/docs/claude-code/settings. Skills, agents and commands may carry hooks and servers.
    (".claude/settings.json", FileFormat::Claude),
    (".claude/settings.local.json", FileFormat::ClaudeLocal),
    (".mcp.json", FileFormat::Servers),
    (".claude/agents", FileFormat::Tree),
    (".claude/commands", FileFormat::Tree),
    (".claude/skills", FileFormat::Tree),
    // https://developers.openai.com/codex/config-basic: config.toml, hooks.json, rules, skills.
    (".codex", FileFormat::Tree),
    // Skills of any agent.
    (".agents", FileFormat::Tree),
    // https://geminicli.com/docs/reference/configuration, https://qwenlm.github.io/qwen-code-docs
    (".gemini", FileFormat::Tree),
    (".qwen", FileFormat::Tree),
    // https://docs.github.com/en/copilot/reference/customization-cheat-sheet
    (".github/hooks", FileFormat::Tree),
    (".github/agents", FileFormat::Tree),
    (".github/skills", FileFormat::Tree),
    (".github/copilot", FileFormat::Tree),
    (".github/mcp.json", FileFormat::Servers),
    // https://block.github.io/goose/docs/guides/using-goosehints
    (".goose", FileFormat::Tree),
    (".goosehints", FileFormat::Text),
    // https://opencode.ai/docs/config: plugins in the folder are programs.
    ("opencode.json", FileFormat::Servers),
    ("opencode.jsonc", FileFormat::Servers),
    (".opencode", FileFormat::Tree),
    ("AGENTS.md", FileFormat::Text),
    ("CLAUDE.md", FileFormat::Text),
    ("CLAUDE.local.md", FileFormat::Text),
    ("GEMINI.md", FileFormat::Text),
    ("QWEN.md", FileFormat::Text),
    (".github/copilot-instructions.md", FileFormat::Text),
];
