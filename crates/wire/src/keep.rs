//! Kept copies of other agents' sessions.

use crate::history::SessionName;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use ts_rs::TS;

/// What the copies are doing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "kebab-case")]
pub enum KeepState {
    #[default]
    Off,
    On,
    /// The disk has less than 1 GB free.
    Paused,
    /// The limit is reached.
    Full,
}

/// What happens to the copy of a session that was deleted in its agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "kebab-case")]
pub enum WhenDeleted {
    #[default]
    Ask,
    Keep,
    /// It is deleted after seven days.
    Forget,
}

/// The sessions that an agent deletes on its own schedule.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct DeletedSoon {
    /// `claude-code`, `gemini`.
    pub provider: String,
    /// The agent's display name.
    pub agent: String,
    /// Sessions that it deletes the next time it starts.
    pub now: usize,
    /// Days after which it deletes a session.
    #[ts(type = "number")]
    pub days: u64,
    /// An organization's settings say so.
    pub managed: bool,
}

/// The copies, and what they are made of.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct KeepSnapshot {
    pub state: KeepState,
    /// The user has answered whether sessions are kept.
    pub answered: bool,
    /// Sessions that are kept.
    #[ts(type = "number")]
    pub sessions: u64,
    /// Those of them whose logs no longer exist.
    #[ts(type = "number")]
    pub gone: u64,
    /// Size of the copies on disk.
    #[ts(type = "number")]
    pub bytes: u64,
    /// Size of the files that were copied.
    #[ts(type = "number")]
    pub raw_bytes: u64,
    /// Size that the copies may have at most, as set by the user.
    #[ts(type = "number")]
    pub limit: u64,
    /// Size that they may have now: the limit, or a tenth of the free disk.
    #[ts(type = "number")]
    pub room: u64,
    /// Sessions that were found.
    pub found: usize,
    /// The size that copies of them are expected to have.
    #[ts(type = "number")]
    pub expected_bytes: u64,
    /// Sessions that are not yet kept in their current state.
    pub waiting: usize,
    /// What agents delete.
    pub soon: Vec<DeletedSoon>,
    /// Agents whose sessions are not kept.
    pub off: Vec<String>,
    pub when_deleted: WhenDeleted,
    /// Size of the parts that are damaged.
    #[ts(type = "number")]
    pub damaged: u64,
    /// When copies were last compared with their checksums.
    pub verified_at: Option<i64>,
}

/// Changes of the settings; absent members stay unchanged.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(default, rename_all = "camelCase")]
pub struct KeepChange {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<bool>,
    /// Bytes; 100 MB at least.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// All agents whose sessions are not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub off: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when_deleted: Option<WhenDeleted>,
}

/// The result of `_openagents/keep/verify`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct VerifiedCopies {
    /// Bytes that were compared with their checksums.
    #[ts(type = "number")]
    pub bytes: u64,
    pub damaged: Vec<DamagedCopy>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct DamagedCopy {
    /// The session.
    pub session: String,
    /// The file, relative to the agent's folder.
    pub file: String,
    /// Size of the damaged parts.
    #[ts(type = "number")]
    pub bytes: u64,
}

/// Params of `_openagents/keep/forget`: copies of these sessions, or of all that were gone before a time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(default, rename_all = "camelCase")]
pub struct ForgetCopies {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[ts(optional, as = "Option<Vec<SessionName>>")]
    pub sessions: Vec<SessionName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gone_before: Option<i64>,
    /// All copies.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[ts(optional, as = "Option<bool>")]
    pub all: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ForgottenCopies {
    /// The number of sessions whose copies were deleted.
    pub sessions: usize,
}

/// Params of `_openagents/keep/restore`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RestoreCopy {
    #[serde(flatten)]
    pub session: SessionName,
    /// A new or empty folder, not an agent's. Absent: where the agent finds the session again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<PathBuf>,
    /// A version of its log, from 1; absent for the newest one. Only with `to`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<usize>,
}

/// The result of `_openagents/keep/versions`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct CopyVersions {
    /// The oldest first; the last one is the current log.
    pub versions: Vec<CopyVersion>,
}

/// A version of the log of a kept session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct CopyVersion {
    /// From 1.
    pub number: usize,
    /// When it was first seen.
    #[ts(type = "number")]
    pub since: i64,
    #[ts(type = "number")]
    pub bytes: u64,
    #[ts(type = "number")]
    pub lines: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct RestoredFiles {
    /// Absolute paths.
    pub files: Vec<String>,
}
