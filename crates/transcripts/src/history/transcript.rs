//! A past session of any agent.

use serde::{Deserialize, Serialize, Serializer};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

/// Number of unknown records and fields that are named for one session.
const NAMED: usize = 3;

/// The agent that wrote a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Provider {
    /// OpenAI Codex.
    Codex,
    ClaudeCode,
    /// Google Gemini CLI.
    Gemini,
    Qwen,
    /// GitHub Copilot CLI.
    Copilot,
    Pi,
    #[serde(rename = "openclaw")]
    OpenClaw,
    /// Cursor: the editor and its CLI.
    Cursor,
    Amp,
    /// Cline, in editors and as a CLI.
    Cline,
    Droid,
    Opencode,
    Goose,
}

impl Provider {
    pub const ALL: [Self; 13] = [
        Self::Codex,
        Self::ClaudeCode,
        Self::Gemini,
        Self::Qwen,
        Self::Copilot,
        Self::Pi,
        Self::OpenClaw,
        Self::Cursor,
        Self::Amp,
        Self::Cline,
        Self::Droid,
        Self::Opencode,
        Self::Goose,
    ];

    /// Returns the name on the wire, such as `claude-code`.
    pub fn as_str(self) -> &'static str {
        self.names().0
    }

    /// Returns the name that users know.
    pub fn display_name(self) -> &'static str {
        self.names().1
    }

    /// Returns the command that continues a session of this agent in a terminal, if it has one.
    pub fn resume_command(self, id: &str) -> Option<String> {
        // Other ids would need quotes.
        let is_plain = !id.starts_with('-')
            && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
        self.names().2.filter(|_| is_plain).map(|command| format!("{command} {id}"))
    }

    /// Returns the name on the wire, the name that users know, and the command that continues a session.
    fn names(self) -> (&'static str, &'static str, Option<&'static str>) {
        match self {
            Self::Codex => ("codex", "Codex", Some("codex resume")),
            Self::ClaudeCode => ("claude-code", "Claude Code", Some("claude --resume")),
            Self::Gemini => ("gemini", "Gemini CLI", Some("gemini --resume")),
            Self::Qwen => ("qwen", "Qwen Code", Some("qwen --resume")),
            Self::Copilot => ("copilot", "GitHub Copilot CLI", Some("copilot --resume")),
            Self::Pi => ("pi", "pi", None),
            Self::OpenClaw => ("openclaw", "OpenClaw", None),
            Self::Cursor => ("cursor", "Cursor", Some("cursor-agent --resume")),
            Self::Amp => ("amp", "Amp", Some("amp threads continue")),
            Self::Cline => ("cline", "Cline", None),
            Self::Droid => ("droid", "Factory Droid", None),
            Self::Opencode => ("opencode", "opencode", Some("opencode --session")),
            Self::Goose => ("goose", "Goose", Some("goose session --resume --session-id")),
        }
    }

    /// Parses a provider's name, case-insensitive; also accepts `claude_code` and `claude`.
    pub fn parse(name: &str) -> Option<Self> {
        let name = name.trim().to_ascii_lowercase().replace(['_', ' '], "-");
        let short = [
            ("claude", Self::ClaudeCode),
            ("gemini-cli", Self::Gemini),
            ("qwen-code", Self::Qwen),
            ("copilot-cli", Self::Copilot),
            ("github-copilot", Self::Copilot),
            ("open-claw", Self::OpenClaw),
            ("clawdbot", Self::OpenClaw),
            ("factory", Self::Droid),
            ("factory-droid", Self::Droid),
            ("open-code", Self::Opencode),
            ("codename-goose", Self::Goose),
        ];
        let named = Self::ALL.into_iter().find(|provider| provider.as_str() == name);
        named.or_else(|| Some(short.into_iter().find(|(short, _)| *short == name)?.1))
    }
}

/// List entry of a past session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Transcript {
    pub id: String,
    /// The agent that wrote the log.
    pub provider: Provider,
    /// Title by the rules of the agent; absent if there is none.
    pub title: Option<String>,
    /// The title was given, not taken from a prompt.
    #[serde(default)]
    pub named: bool,
    /// Working directory, as logged.
    #[serde(default, serialize_with = "shown_if_any")]
    pub cwd: Option<PathBuf>,
    pub branch: Option<String>,
    /// The last model used.
    pub model: Option<String>,
    /// Milliseconds since the epoch.
    pub created_at: Option<i64>,
    /// Time of its last record, in milliseconds since the epoch; if no record has a time, of the file's last change.
    /// Copied, restored and synchronised files keep their age.
    pub updated_at: i64,
    #[serde(serialize_with = "shown")]
    pub file_path: PathBuf,
    /// Paths of the files before it, oldest first, if the agent continued in another file.
    #[serde(default, serialize_with = "all_shown", skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<PathBuf>,
    /// Bytes of its files; in a database, a number that changes with the session.
    #[serde(skip)]
    pub size: u64,
    /// Last change of its files, in milliseconds since the epoch.
    #[serde(skip)]
    pub changed_at: i64,
    /// Number of prompts that were not undone, if the whole file was read.
    pub user_turns: Option<u64>,
    /// Tokens used, if logged.
    pub tokens: Option<u64>,
    /// Hidden in the agent's own list.
    pub hidden: bool,
    /// Started by another session.
    pub subagent: bool,
    #[serde(default)]
    pub archived: bool,
    /// Id of the session that it was forked, branched or copied from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continues: Option<String>,
    /// Hash of the id of its first line, if lines have ids; copies share it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_line: Option<u64>,
    /// Number of unreadable lines.
    pub bad_lines: u64,
    /// Version of the agent that wrote it, if logged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Data that its reader does not know, in the part that the list reads.
    #[serde(default, skip_serializing_if = "Unknown::is_empty")]
    pub unknown: Unknown,
    /// Its log no longer exists: it is read from the kept copy.
    #[serde(skip)]
    pub gone: Option<Gone>,
    /// Where its working directory is now, if the user has moved it.
    #[serde(skip)]
    pub moved_to: Option<PathBuf>,
}

/// Since when a log no longer exists, and why.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Gone {
    /// Milliseconds since the epoch; absent if that was noticed just now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<i64>,
    #[serde(default)]
    pub reason: GoneReason,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum GoneReason {
    /// Its agent deletes sessions of its age.
    Retention,
    /// It was younger, so it was deleted by hand or by a program.
    Deleted,
    /// Its log was not kept, but what the user typed in it is stored elsewhere.
    PromptsOnly,
    #[default]
    Unknown,
}

impl GoneReason {
    /// Returns the name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Retention => "retention",
            Self::Deleted => "deleted",
            Self::PromptsOnly => "prompts",
            Self::Unknown => "unknown",
        }
    }
}

/// Data in a session that its reader does not know.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unknown {
    /// The number of records of each unknown kind, such as `event_msg/turn_summary`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub records: BTreeMap<String, u64>,
    /// The number of records with each unknown field, such as `assistant/message.summary`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub fields: BTreeMap<String, u64>,
    /// How many of both contain words: these may be missing from the display.
    #[serde(default)]
    pub with_words: u64,
}

impl Unknown {
    /// Returns whether everything is known.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty() && self.fields.is_empty()
    }

    /// Adds the unknown data of another session.
    pub fn add(&mut self, other: &Self) {
        for (all, more) in [(&mut self.records, &other.records), (&mut self.fields, &other.fields)] {
            for (name, count) in more {
                *all.entry(name.clone()).or_default() += count;
            }
        }
        self.with_words += other.with_words;
    }
}

impl Transcript {
    /// Returns whether its log was read, at least in part: otherwise only what its path says is known.
    pub(crate) fn was_read(&self) -> bool {
        self.title.is_some() || self.user_turns.is_some() || self.cwd.is_some()
    }

    /// Returns whether only what the user typed is left of it.
    pub fn is_prompts_only(&self) -> bool {
        self.gone.is_some_and(|gone| gone.reason == GoneReason::PromptsOnly)
    }

    /// Returns the folder that it belongs to: its working directory, or where that is now.
    pub fn folder(&self) -> Option<&Path> {
        self.moved_to.as_deref().or(self.cwd.as_deref())
    }

    /// Returns where a logged path is now. Relative paths are those of the working directory.
    pub fn path_now(&self, logged: &Path) -> PathBuf {
        let Some((cwd, now)) = self.cwd.as_deref().zip(self.folder()) else { return logged.to_owned() };
        match logged.strip_prefix(cwd) {
            Ok(inside) => now.join(inside),
            // An absolute path replaces the folder.
            Err(_) => now.join(logged),
        }
    }

    /// Returns why parts of it may be missing from the display, as a sentence without its full stop.
    pub fn why_incomplete(&self) -> Option<String> {
        let lines = match self.bad_lines {
            0 => None,
            1 => Some("1 line could not be read".to_owned()),
            lines => Some(format!("{lines} lines could not be read")),
        };
        let unknown = (self.unknown.with_words > 0).then(|| {
            // The fields of an unknown record are unknown too.
            let records = &self.unknown.records;
            let of_known = |field: &&String| !records.keys().any(|kind| field.starts_with(kind.as_str()));
            let names = records.keys().chain(self.unknown.fields.keys().filter(of_known));
            let names = names.take(NAMED).cloned().collect::<Vec<_>>().join(", ");
            let version = self.version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
            format!(
                "{}{version} wrote records or fields that OpenAgents does not know: {names}",
                self.provider.display_name()
            )
        });
        lines.into_iter().chain(unknown).reduce(|lines, unknown| format!("{lines}; {unknown}"))
    }

    pub(crate) fn files(&self) -> SessionFiles<'_> {
        SessionFiles { newest: &self.file_path, earlier: &self.earlier }
    }
}

/// Serializes a path lossily: a name that is not UTF-8 must not fail a whole list.
fn shown<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

fn all_shown<S: Serializer>(paths: &[PathBuf], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(paths.iter().map(|path| path.to_string_lossy()))
}

fn shown_if_any<S: Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
    path.as_deref().map(Path::to_string_lossy).serialize(serializer)
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct SessionFiles<'a> {
    pub(crate) newest: &'a Path,
    /// Oldest first; empty for nearly all sessions.
    pub(crate) earlier: &'a [PathBuf],
}

impl<'a> SessionFiles<'a> {
    pub(crate) fn oldest_first(self) -> impl Iterator<Item = &'a Path> {
        self.earlier.iter().map(PathBuf::as_path).chain([self.newest])
    }

    pub(crate) fn oldest(self) -> &'a Path {
        self.earlier.first().map_or(self.newest, PathBuf::as_path)
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query {
    /// Only of this agent.
    pub provider: Option<Provider>,
    /// Only sessions that ran in this directory or in another worktree of its repository.
    pub workspace: Option<PathBuf>,
    /// Only sessions changed since this time, in milliseconds since the epoch.
    pub since: Option<i64>,
    /// Includes hidden sessions and sub-agents, and those of which only prompts are left.
    pub all: bool,
    /// Includes those of which only prompts are left.
    pub prompts: bool,
    /// Maximum number of rows; 0 for no limit.
    pub limit: usize,
    /// Time for reading logs that are not cached, newest first; the others stay unread. `None` for all of the budget.
    pub read_time: Option<Duration>,
}

/// A page of transcripts, newest first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Listing {
    pub rows: Vec<Transcript>,
    /// Number of matching rows before the cap.
    pub total: usize,
    /// The cap cut rows.
    pub truncated: bool,
    /// The deadline was reached; titles may be missing, and logs may not have been found.
    pub timed_out: bool,
    /// Number of logs found but not read. They may be hidden, so they are left out of `rows` and `total`, unless hidden
    /// ones are requested; then they are rows without titles.
    pub unread: usize,
}
