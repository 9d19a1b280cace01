//! The files that agents load from the folder that they start in, and from the folders above it.
//!
//! The list comes from the programs themselves: their file accesses while they open a session over ACP in an empty
//! folder, inside and outside a repository, and the texts of their programs and manuals. `.claude`, `.codex` and the
//! like are read in full, so that a new kind of file in them is not missed. Git is covered in `git.rs`.

use crate::git::WorktreeScope;
use FileFormat::{Claude, ClaudeLocal, Settings, Text, Tree, Variables};
use std::path::{Path, PathBuf};

/// A program that loads settings from folders.
#[derive(Debug, PartialEq, Eq)]
pub struct Loader {
    /// The name that the user knows.
    pub name: &'static str,
    pub version: &'static str,
    /// The package, and the manual.
    pub source: &'static str,
}

/// A file or folder that agents load.
#[derive(Debug, PartialEq, Eq)]
pub struct CatalogueEntry {
    /// Relative to the folder, with `/`.
    pub path: &'static str,
    /// Its purpose, for the user.
    pub does: &'static str,
    pub loaders: &'static [&'static Loader],
    pub(super) format: FileFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileFormat {
    /// Claude Code's settings.
    Claude,
    /// Claude Code's settings of one user. It adds to the permissions there whenever the user answers "always".
    ClaudeLocal,
    /// Settings in JSON, TOML or another format.
    Settings,
    /// Every file in the folder, or one file of that name.
    Tree,
    /// `NAME=value`, some of them secrets.
    Variables,
    /// Text for the model. Listed only.
    Text,
}

macro_rules! loaders {
    ($($id:ident: $name:literal, $version:literal, $source:literal;)*) => {
        $(const $id: &Loader = &Loader { name: $name, version: $version, source: $source };)*
        #[cfg(test)]
        pub(super) const LOADERS: &[&Loader] = &[$($id),*];
    };
}

loaders! {
    CODEX: "Codex", "0.169.0", "npm @openai/codex, @agentclientprotocol/codex-acp 2.6.0; https://developers.openai.com/codex/config-basic";
    CLAUDE: "Claude Code", "2.1.330", "npm @anthropic-ai/claude-code, @agentclientprotocol/claude-agent-acp 0.101.0; https://code.claude.com/docs/en/settings";
    GEMINI: "Gemini CLI", "0.61.0", "npm @google/gemini-cli; https://geminicli.com/docs/reference/configuration";
    QWEN: "Qwen Code", "0.24.4", "npm @qwen-code/qwen-code; https://qwenlm.github.io/qwen-code-docs";
    COPILOT: "GitHub Copilot CLI", "1.0.102", "npm @github/copilot; https://docs.github.com/en/copilot/reference/copilot-cli-reference";
    PI: "pi", "0.73.1", "npm @mariozechner/pi-coding-agent, docs/settings.md and docs/extensions.md in it";
    OPENCLAW: "OpenClaw", "2026.9.6", "npm openclaw, src/infra/dotenv.ts in it";
    CURSOR: "Cursor", "documentation of 2026-07", "https://cursor.com/docs/cli/reference/configuration, https://cursor.com/docs/reference/third-party-hooks";
    AMP: "Amp", "0.0.1790142911", "npm @ampcode/cli; https://ampcode.com/manual";
    CLINE: "Cline", "3.0.65", "npm cline, @cline/cli-linux-x64; https://docs.cline.bot";
    DROID: "Factory Droid", "0.215.0", "npm droid, @factory/cli-linux-x64; https://docs.factory.ai/cli";
    OPENCODE: "opencode", "1.18.33", "npm opencode-ai; https://opencode.ai/docs/config";
    GOOSE: "Goose", "repository at 0825b570", "https://github.com/block/goose, documentation/docs/guides/context-engineering";
    NPX: "npx", "11", "https://docs.npmjs.com/cli/v11/configuring-npm/npmrc: agents of the ACP registry are started with npx";
}

const fn entry(
    path: &'static str,
    format: FileFormat,
    loaders: &'static [&'static Loader],
    does: &'static str,
) -> CatalogueEntry {
    CatalogueEntry { path, does, loaders, format }
}

/// Files and folders whose content other programs run: Git, editors, shells, and services that build a project.
const RUNS_PROGRAMS: &[&str] = &[
    ".git",
    ".gitmodules",
    ".gitattributes",
    ".githooks",
    ".husky",
    ".pre-commit-config.yaml",
    "lefthook.yml",
    ".vscode",
    ".idea",
    ".envrc",
    ".zed",
    ".devcontainer",
    ".exrc",
    ".nvim.lua",
    ".dir-locals.el",
    "mise.toml",
    ".mise.toml",
    ".cargo",
    ".forgejo",
    ".gitea",
    ".lefthook.yml",
    ".woodpecker.yaml",
    ".gitlab-ci.yaml",
    ".github",
    ".gitlab-ci.yml",
    ".gitlab",
    ".circleci",
    ".travis.yml",
    ".buildkite",
    ".woodpecker",
    ".woodpecker.yml",
    ".drone.yml",
    "Jenkinsfile",
    "azure-pipelines.yml",
    "bitbucket-pipelines.yml",
    "appveyor.yml",
];

/// Returns whether writing a file needs its own approval: agents load it, or programs of others run what it says.
/// `path` is relative to the workspace. The same files count in every folder, which may be the workspace of another
/// agent.
pub fn needs_own_approval(path: &Path) -> bool {
    // Some file systems ignore case.
    let parts: Vec<String> =
        path.components().map(|part| part.as_os_str().to_string_lossy().to_lowercase()).collect();
    let is_within = |known: &str| {
        let known: Vec<String> = known.split('/').map(str::to_lowercase).collect();
        parts.windows(known.len()).any(|window| window == known)
    };
    ENTRIES.iter().map(|entry| entry.path).chain(RUNS_PROGRAMS.iter().copied()).any(is_within)
}

/// Returns everything that agents are known to load from folders.
pub fn catalogue() -> &'static [CatalogueEntry] {
    ENTRIES
}

/// In the order in which they are shown: programs and settings by agent, then instructions.
pub(super) const ENTRIES: &[CatalogueEntry] = &[
    entry(
        ".claude/settings.json",
        Claude,
        &[CLAUDE, COPILOT, CURSOR],
        "hooks, status line, key helper, plugins, variables, permissions",
    ),
    entry(
        ".claude/settings.local.json",
        ClaudeLocal,
        &[CLAUDE, COPILOT, CURSOR],
        "hooks, status line, key helper, plugins, variables, permissions",
    ),
    entry(
        ".claude",
        Tree,
        &[CLAUDE, COPILOT, CURSOR, OPENCODE, GOOSE, AMP, DROID, CLINE],
        "commands, skills, sub-agents, output styles, workflows, scheduled tasks, scripts of hooks",
    ),
    entry(".mcp.json", Settings, &[CLAUDE, COPILOT, QWEN], "MCP servers, which are programs"),
    entry(".codex", Tree, &[CODEX], "settings, MCP servers, hooks, notify program, rules, agents, skills"),
    entry(
        ".agents",
        Tree,
        &[CODEX, GEMINI, QWEN, COPILOT, OPENCODE, GOOSE, AMP, CLINE, DROID, PI, CURSOR, OPENCLAW],
        "skills, commands, plugins with hooks",
    ),
    entry(".agent", Tree, &[DROID], "skills and commands"),
    entry(
        ".gemini",
        Tree,
        &[GEMINI],
        "settings, MCP servers, hooks, extensions, commands, variables, sandbox files",
    ),
    entry(".qwen", Tree, &[QWEN], "settings, MCP servers, hooks, extensions, commands, workflows, variables"),
    entry(".lsp.json", Settings, &[QWEN], "language servers, which are programs"),
    entry(".github/hooks", Tree, &[COPILOT], "hooks"),
    entry(".github/extensions", Tree, &[COPILOT], "extensions, which are programs"),
    entry(".github/mcp.json", Settings, &[COPILOT], "MCP servers, which are programs"),
    entry(".github/lsp.json", Settings, &[COPILOT], "language servers, which are programs"),
    entry("lsp.json", Settings, &[COPILOT], "language servers, which are programs"),
    entry(".github/copilot", Tree, &[COPILOT], "settings: plugins, marketplaces, hooks, model"),
    entry(".github/agents", Tree, &[COPILOT], "sub-agents, with MCP servers and hooks"),
    entry(".github/skills", Tree, &[COPILOT], "skills"),
    entry(
        "opencode.json",
        Settings,
        &[OPENCODE],
        "plugins, MCP servers, formatters, language servers, addresses of models",
    ),
    entry(
        "opencode.jsonc",
        Settings,
        &[OPENCODE],
        "plugins, MCP servers, formatters, language servers, addresses of models",
    ),
    entry("tui.json", Settings, &[OPENCODE], "plugins of its terminal interface"),
    entry("tui.jsonc", Settings, &[OPENCODE], "plugins of its terminal interface"),
    entry(
        ".opencode",
        Tree,
        &[OPENCODE],
        "plugins and tools, which are programs, settings, commands, agents",
    ),
    entry(".goose", Tree, &[GOOSE], "recipes, skills"),
    entry(".cursor", Tree, &[CURSOR], "hooks, MCP servers, permissions, sub-agents, commands, rules"),
    entry(".amp", Tree, &[AMP], "plugins, which are programs, settings, MCP servers"),
    entry(".cline", Tree, &[CLINE], "plugins, which are programs, hooks, skills, workflows"),
    entry(".clinerules", Tree, &[CLINE], "hooks, workflows, rules"),
    entry("bunfig.toml", Settings, &[CLINE], "preloaded programs, for a Cline that is built with Bun"),
    entry(".factory", Tree, &[DROID], "hooks, MCP servers, settings, droids, commands, skills"),
    entry(".pi", Tree, &[PI], "extensions, which are programs, packages, settings, system prompt"),
    entry(".openclaw", Tree, &[OPENCLAW], "plugins, hooks, settings"),
    entry(
        ".env",
        Variables,
        &[GEMINI, QWEN, OPENCLAW],
        "variables: addresses and keys of models, options of Node",
    ),
    entry(".npmrc", Variables, &[NPX], "registry and programs of npm, for agents that npx starts"),
    entry(".github/instructions", Tree, &[COPILOT], "instructions"),
    entry(
        "AGENTS.md",
        Text,
        &[CODEX, CLAUDE, QWEN, COPILOT, OPENCODE, GOOSE, AMP, CLINE, DROID, PI, CURSOR],
        "instructions",
    ),
    entry("AGENTS.override.md", Text, &[CODEX], "instructions"),
    entry("AGENT.md", Text, &[AMP], "instructions"),
    entry("CLAUDE.md", Text, &[CLAUDE, COPILOT, OPENCODE, AMP, PI, CURSOR], "instructions"),
    entry("CLAUDE.local.md", Text, &[CLAUDE], "instructions"),
    entry("GEMINI.md", Text, &[GEMINI, COPILOT], "instructions"),
    entry("QWEN.md", Text, &[QWEN], "instructions"),
    entry("CONTEXT.md", Text, &[OPENCODE], "instructions"),
    entry(".github/copilot-instructions.md", Text, &[COPILOT], "instructions"),
    entry(".goosehints", Text, &[GOOSE], "instructions"),
    entry(".cursorrules", Text, &[CURSOR], "instructions"),
];

/// Returns the path of `folder` relative to the folder covered by the trust in `trusted` that contains it; `None` if it
/// is not covered. The trust covers the trusted folder, everything below it, and the corresponding folders of other
/// worktrees of the same repository. Both paths are canonical.
///
/// Worktrees count only if each lists the other: the claim of one side is not enough.
pub fn place(trusted: &Path, folder: &Path) -> Option<PathBuf> {
    places(trusted, folder).into_iter().next()
}

/// Returns all such paths, the nearest first: a worktree inside another has two of them, and settings in its parents
/// are known from the second.
pub fn places(trusted: &Path, folder: &Path) -> Vec<PathBuf> {
    let below = |top: &Path| folder.strip_prefix(top).ok().map(Path::to_owned);
    let leads_back = || WorktreeScope::new(folder).folders().iter().any(|other| other.starts_with(trusted));
    let worktrees = WorktreeScope::new(trusted);
    let mut places: Vec<_> = worktrees.folders().iter().filter_map(|top| below(top)).collect();
    if places.is_empty() || !leads_back() {
        places = below(trusted).into_iter().collect();
    }
    places.sort_by_key(|place| place.components().count());
    places.dedup();
    places
}

/// Returns whether the trust in `trusted` covers `folder`: see [`place`].
pub fn covers(trusted: &Path, folder: &Path) -> bool {
    place(trusted, folder).is_some()
}
