//! The sessions of other agents.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::PathBuf;
use ts_rs::TS;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct SessionName {
    /// `claude-code`, `codex`, …
    pub provider: String,
    pub id: String,
}

/// A row of another agent's session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PastSession {
    /// `claude-code`, `codex`, …
    pub provider: String,
    /// The agent's display name.
    pub agent: String,
    pub id: String,
    /// The user's title, or the agent's.
    pub title: Option<String>,
    /// The folder in which it ran, or where that is now.
    pub cwd: Option<String>,
    pub branch: Option<String>,
    /// The last model.
    pub model: Option<String>,
    /// When it began.
    pub created_at: Option<i64>,
    /// When it last changed.
    pub updated_at: i64,
    /// The command that continues it in a terminal; `null` if the agent has none.
    pub resume: Option<String>,
    /// The session here whose agent keeps this log: the same conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosted_by: Option<String>,
    /// Path of its log; for clients on this computer only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Why something may be missing from what is shown of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incomplete: Option<String>,
    /// The session of which it is a fork, a branch or a copy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continues: Option<String>,
    /// The folder in which it ran, if the user has moved it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved_from: Option<String>,
    /// Its agent cannot continue it here: another one can, or the same one, with a brief.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub needs_brief: bool,
    /// Its folder does not exist.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub folder_missing: bool,
    /// It is read from its copy, because its log no longer exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<KeptCopy>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pinned: bool,
    /// Archived, by the user or by its agent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub archived: bool,
}

/// The copy of a session whose log no longer exists.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct KeptCopy {
    /// Since when its log no longer exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gone_since: Option<i64>,
    /// `retention`: the agent deletes sessions of its age; `deleted`; `unknown`; `prompts`: there is no copy, and only what
    /// the user typed is left.
    pub reason: String,
}

/// Params of `_openagents/history/list`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct ListHistory {
    /// At most this many rows; 200 at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// Only sessions that are listed after this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<SessionName>,
    /// Which sessions.
    #[ts(optional, as = "Option<HistoryFilter>")]
    pub filter: HistoryFilter,
}

/// Selects sessions of the list; matches everything by default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct HistoryFilter {
    /// Of this agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// That ran in this folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// That changed since this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<i64>,
    /// Archived ones only, or others only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived: Option<bool>,
    /// Only those whose log no longer exists, with those of which only prompts are left.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[ts(optional, as = "Option<bool>")]
    pub gone: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct HistoryPage {
    /// Newest first; the first page ends with the older ones that are pinned.
    pub sessions: Vec<PastSession>,
    /// There are older ones.
    pub more: bool,
    /// Sessions in the whole list.
    pub total: usize,
    /// Sessions that were found and not read yet.
    pub unread: usize,
    /// Sessions of the whole list of which something may be missing.
    pub incomplete: usize,
}

/// Params of `_openagents/history/read`. Without a position, the end is read; offsets come from earlier parts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ReadHistory {
    #[serde(flatten)]
    pub session: SessionName,
    /// The part that ends before this offset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
    /// The part that begins at this offset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<u64>,
    /// The part around this line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
}

/// A part of another agent's session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PastPart {
    /// Its row.
    pub session: PastSession,
    /// As of a live session; the number of each is the line of the log, 0 if that is unknown.
    #[ts(type = "Array<UpdateParams>")]
    pub updates: Vec<Value>,
    /// Offset of the part's first line.
    pub from: u64,
    /// Offset behind its last line.
    pub to: u64,
    pub size: u64,
    /// Lines that could not be read.
    pub omitted: u64,
    /// Since when its agent's log has less than before, or something else; the older versions are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced_at: Option<i64>,
}

/// Params of `_openagents/history/line`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ReadLine {
    #[serde(flatten)]
    pub session: SessionName,
    /// The line, from 1.
    pub line: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct LineText {
    /// As the agent wrote it.
    pub text: String,
}

/// Params of `_openagents/history/find`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct FindLines {
    #[serde(flatten)]
    pub session: SessionName,
    /// The text.
    pub query: String,
    /// At most this many lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

/// Lines of a log that have a text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct PastLines {
    /// Ascending.
    pub lines: Vec<u64>,
    pub more: bool,
}

/// Changes of the list since an earlier notification. Some may be repeated.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct PastChanges {
    pub number: u64,
    pub sessions: Vec<PastSession>,
    /// Sessions that are gone.
    pub removed: Vec<SessionName>,
}

/// The settings of other agents' sessions, and the progress of their index.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct HistorySnapshot {
    pub index: bool,
    /// Paired devices see them.
    pub devices: bool,
    /// What is left out.
    pub excluded: ExcludedHistory,
    /// Folders that the user has moved.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moved: Vec<MovedFolder>,
    pub agents: Vec<HistoryAgent>,
    pub sessions: u64,
    /// Sessions of the index that are too long to be indexed whole.
    pub cut: u64,
    /// Size of the index on disk.
    pub bytes: u64,
    pub progress: Progress,
}

/// Agents and folders whose sessions are never read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ExcludedHistory {
    pub agents: Vec<String>,
    /// Folders, with everything in them.
    pub workspaces: Vec<PathBuf>,
}

/// A folder that the user has moved, with everything below it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct MovedFolder {
    pub from: String,
    pub to: String,
}

/// Params of `_openagents/workspaces/suggest`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct FolderQuery {
    /// A folder that does not exist, absolute.
    #[ts(type = "string")]
    pub from: PathBuf,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct SuggestedFolders {
    /// The best first; five at most.
    pub folders: Vec<SuggestedFolder>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct SuggestedFolder {
    pub path: String,
    /// Why it may be the folder, as sentences without full stops; the strongest first.
    pub evidence: Vec<String>,
}

/// Params of `_openagents/workspaces/map`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct MapFolder {
    /// A folder that does not exist, absolute.
    #[ts(type = "string")]
    pub from: PathBuf,
    /// Where it is now, absolute; `null` forgets it.
    #[ts(type = "string | null")]
    pub to: Option<PathBuf>,
}

/// An agent's sessions, counted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct HistoryAgent {
    /// `claude-code`, `codex`, …
    pub provider: String,
    /// Its display name.
    pub agent: String,
    pub sessions: usize,
    /// Sessions of which something may be missing.
    pub incomplete: usize,
    /// The most frequent reasons.
    pub why: Vec<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Progress {
    /// Sessions that are indexed.
    pub done: usize,
    /// Sessions that were found.
    pub total: usize,
}

/// Params of `_openagents/history/configure`; absent members stay unchanged.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct HistoryChange {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<bool>,
    /// Show them to paired devices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub devices: Option<bool>,
    /// Leave out.
    #[ts(optional, as = "Option<ExclusionChange>")]
    pub exclude: ExclusionChange,
    /// Take in again.
    #[ts(optional, as = "Option<ExclusionChange>")]
    pub include: ExclusionChange,
}

/// An agent or a folder.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct ExclusionChange {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The folder, absolute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<PathBuf>,
}

/// Params of `_openagents/sessions/search`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct SearchSessions {
    /// The text.
    pub query: String,
    /// At most this many sessions; 50 at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// Sessions of this folder rank higher.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
    /// Search whole logs instead of the index. This also finds tool output, parts of words and text that is not indexed.
    #[serde(default)]
    #[ts(optional, as = "Option<bool>")]
    pub logs: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SearchResults {
    /// Best first.
    pub sessions: Vec<SearchHit>,
    /// There may be more.
    pub more: bool,
    pub indexing: Progress,
    /// What the index does not have.
    pub not_searched: NotSearched,
    /// The time limit was reached before every log was read.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
}

/// A session with the text, and where.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct SearchHit {
    /// Its row.
    #[serde(flatten)]
    pub session: PastSession,
    /// The line, from 1; 0 for the title.
    pub line: u64,
    /// `title`, `prompt`, `answer`, `call` or `file`; absent for a search of whole logs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Passages with the text.
    pub matches: u64,
    /// The text around the match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snippet: Option<String>,
}

/// What the index does not have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct NotSearched {
    /// Sessions whose end is not indexed.
    pub session_ends: u64,
    /// Messages whose end is not indexed.
    pub long_messages: u64,
    /// The output of tools is not indexed.
    pub tool_output: bool,
}
