//! Live sessions: explore, attach, prompts, approvals, the list, and what the page shows of them.

use crate::meta::{Meta, Policy, UpdateMeta};
use agent_client_protocol_schema::v1::{SessionInfo, SessionUpdate};
use openagents_core::{
    approval::{Approval, ApprovalCommand, FormAnswers},
    model::Activity,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::PathBuf;
use ts_rs::TS;

/// No members.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Empty {}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SessionRef {
    pub session_id: String,
}

/// Params of `_openagents/explore`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ExploreParams {
    /// The folder, absolute.
    pub root: PathBuf,
    /// Questions to answer.
    #[serde(default)]
    #[ts(optional, as = "Option<Vec<String>>")]
    pub goals: Vec<String>,
    #[serde(default)]
    #[ts(optional, as = "Option<Planner>")]
    pub planner: Planner,
    /// Accepted without effect: an exploration uses neither the network nor external models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Policy>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum Planner {
    /// The model if it is in memory, otherwise the rules.
    Auto,
    /// The rules; immediate.
    #[default]
    Heuristic,
    /// The model, loaded if needed.
    Model,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ExploreResult {
    pub session_id: String,
    pub plan_id: String,
    /// `started`.
    pub status: String,
}

/// Params of `_openagents/attach`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AttachParams {
    pub session_id: String,
    /// The number of the last update that the client has.
    #[serde(default)]
    #[ts(optional, as = "Option<u64>")]
    pub since: u64,
    /// Whether a long log may be sent folded, as a snapshot. Default: yes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<bool>,
}

/// The state of a session when it is attached; its updates follow.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(default, rename_all = "camelCase")]
pub struct AttachResult {
    pub session_id: String,
    /// The number of its newest update.
    pub seq: u64,
    pub running: bool,
    /// What answers prompts: an agent's id, or `default_mode`.
    pub mode: String,
    pub title: Option<String>,
    pub approvals: Vec<Approval>,
    /// Prompts that wait for the running turn.
    pub queue: Vec<QueuedPrompt>,
    /// The log is sent folded: a snapshot for all updates up to `seq` replaces what the client has.
    pub snapshot: Option<SnapshotMark>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct SnapshotMark {
    /// The number of its last update.
    pub seq: u64,
    /// The number that the client asked for.
    pub since: u64,
}

/// Params of `_openagents/snapshot`: the end of the snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotParams {
    pub session_id: String,
    /// The number of the last update that the snapshot stands for.
    pub seq: u64,
}

/// Params of `_openagents/images/read`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ReadImage {
    pub session_id: String,
    /// Of the image, from the prompt.
    pub hash: String,
}

/// An image of a prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ImageData {
    /// `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
    pub mime_type: String,
    /// Base64.
    pub data: String,
}

/// A prompt that waits for the running turn.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct QueuedPrompt {
    /// Id of its message in the log.
    pub id: String,
    pub text: String,
    /// Name of the client that sent it; may be empty.
    pub by: String,
}

/// Params of `_openagents/queue`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct QueueParams {
    pub session_id: String,
    /// In the order in which they will run.
    pub queued: Vec<QueuedPrompt>,
    pub running: bool,
}

/// Params of `_openagents/queue/remove`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RemoveQueued {
    pub session_id: String,
    /// The prompt.
    pub id: String,
}

/// Params of `_openagents/files/find`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct FindFiles {
    pub session_id: String,
    /// Letters of the path, in order; empty for the files near the root.
    pub query: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct FoundFiles {
    /// Up to 50 paths relative to the folder, with `/`.
    pub files: Vec<String>,
    /// Up to 20 definitions whose name matches. On the first call in a large folder, some may be missing.
    pub symbols: Vec<FoundSymbol>,
}

/// A function, a type or another definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct FoundSymbol {
    pub name: String,
    /// Relative to the folder, with `/`.
    pub path: String,
    /// From 1.
    pub line: u32,
}

/// Params of `_openagents/sessions/excerpt`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ExcerptQuery {
    /// The session whose prompt names it; both are of one folder.
    pub session_id: String,
    /// Absent for a session of ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    pub id: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Excerpt {
    /// The first prompt and the newest messages, about 48 KB at most; empty if there are none.
    pub text: String,
}

/// Params of `_openagents/queue/send_now`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SendNow {
    pub session_id: String,
    /// The first prompt in the queue.
    pub id: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Removed {
    pub removed: bool,
}

/// Params of `session/update`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct UpdateParams {
    pub session_id: String,
    /// The update, as ACP defines it.
    #[ts(type = "SessionUpdate")]
    pub update: SessionUpdate,
    /// Its number and time.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta<UpdateMeta>>,
}

impl UpdateParams {
    /// Returns our part of `_meta`.
    pub fn ours(&self) -> UpdateMeta {
        self.meta.as_ref().and_then(|meta| meta.openagents.clone()).unwrap_or_default()
    }
}

/// Params of `_openagents/update`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct UpdateQuery {
    pub session_id: String,
    pub seq: u64,
    /// Where the page begins, in bytes.
    #[serde(default)]
    #[ts(optional, as = "Option<usize>")]
    pub offset: usize,
    /// At most this many bytes: 256 KiB by default, 4 MiB at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

/// A page of an update's JSON, whose outputs are not cut.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct UpdatePage {
    pub session_id: String,
    pub seq: u64,
    /// When it was stored.
    pub ts: i64,
    pub offset: usize,
    /// Bytes of the whole text.
    pub total: usize,
    pub text: String,
    /// Where the next page begins; absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<usize>,
}

/// Params of `_openagents/sessions`: changes of the list.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct SessionsParams {
    /// New and changed rows, as in `session/list`.
    #[ts(type = "SessionInfo[]")]
    pub sessions: Vec<SessionInfo>,
    /// Ids of deleted sessions.
    pub removed: Vec<String>,
    /// Changes were missed: the list has to be read again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reset: bool,
}

/// Params of `_openagents/activity`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ActivityParams {
    pub session_id: String,
    /// `null` when the model is idle.
    pub activity: Option<Activity>,
}

/// Params of `_openagents/sessions/label`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct LabelSession {
    /// The other agent; absent for a session of OpenAgents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    pub id: String,
    /// `null` restores the original title; absent keeps the current one.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[ts(optional, type = "null | string")]
    pub title: Option<Option<String>>,
    /// Pin it, or not; absent keeps it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pinned: Option<bool>,
    /// Archive it, or not; absent keeps it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived: Option<bool>,
}

/// Tells `null` from an absent member.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Option<String>>, D::Error> {
    Deserialize::deserialize(deserializer).map(Some)
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct WorkspacesResult {
    /// The last used one first.
    pub workspaces: Vec<WorkspaceInfo>,
    /// The folder in which the bridge was started.
    pub root: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceInfo {
    /// Absolute.
    pub path: String,
    pub name: String,
    /// When a session in it last changed.
    pub last_active: i64,
    pub sessions: usize,
}

/// Params of `_openagents/delegate`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct DelegateParams {
    pub session_id: String,
    /// Arguments of the tool `delegate.run`.
    #[ts(type = "unknown")]
    pub arguments: Value,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct DelegateResult {
    /// The call that reports on it.
    pub tool_call_id: String,
}

/// Params of `_openagents/approvals/answer`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AnswerApproval {
    pub session_id: String,
    pub approval_id: String,
    pub option_id: String,
    /// A message to the agent, sent with a denial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The answers to a form, if the option does not deny.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(type = "Record<string, unknown> | undefined")]
    pub content: Option<FormAnswers>,
}

/// Params of `_openagents/approvals/resume`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ResumeApproval {
    pub session_id: String,
    pub approval_id: String,
}

/// Params of `_openagents/approvals/ask_before_edits`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AskBeforeEdits {
    pub session_id: String,
    /// Id of the agent.
    pub agent: String,
}

/// Params of `_openagents/agents/sessions`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct AgentSessionsQuery {
    /// Id of the agent.
    pub agent: String,
    /// The folder, absolute.
    #[ts(type = "string")]
    pub cwd: PathBuf,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct AgentSessions {
    /// Newest first; at most 2,000.
    pub sessions: Vec<AgentSession>,
}

/// A session that an agent keeps itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AgentSession {
    /// The agent's id of it.
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Milliseconds since the epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(type = "number")]
    pub updated_at: Option<i64>,
    /// The session here that continues it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
}

/// Params of `_openagents/agents/continue_session`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ContinueSession {
    /// Id of the agent.
    pub agent: String,
    /// The folder, absolute.
    #[ts(type = "string")]
    pub cwd: PathBuf,
    /// The agent's id of the session, which was listed in this folder.
    pub id: String,
    /// Continue a copy, which the agent makes with `session/fork`: the session may be open in another program.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[ts(optional, as = "Option<bool>")]
    pub copy: bool,
}

/// Params of `_openagents/agents/delete_session`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct DeleteAgentSession {
    /// Id of the agent.
    pub agent: String,
    /// The folder, absolute.
    #[ts(type = "string")]
    pub cwd: PathBuf,
    /// The agent's id of the session.
    pub id: String,
}

/// Params of `_openagents/subagents/stop`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct StopSubagent {
    pub session_id: String,
    /// The agent's id of the sub-agent: `childSessionId` in the metadata of its updates.
    pub subagent: String,
}

/// Params of `_openagents/approvals/revoke`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(default, rename_all = "camelCase")]
pub struct RevokeRules {
    /// The rule; absent for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_id: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct StandingRules {
    /// Newest first.
    pub rules: Vec<StandingRule>,
}

/// A command that the user always allows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct StandingRule {
    pub approval_id: String,
    pub session_id: String,
    pub agent_id: String,
    /// The agent's display name.
    pub agent: String,
    pub command: Option<ApprovalCommand>,
    /// Name of the client that answered.
    pub by: String,
    pub at: i64,
}

/// Params of `_openagents/markdown`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Markdown {
    /// Markdown.
    pub text: String,
}

/// Safe HTML.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Html {
    /// Without scripts, styles and remote content.
    pub html: String,
}

/// Params of `_openagents/inspect`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct InspectParams {
    /// `false` stops the frames.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watch: Option<bool>,
}

/// The newest frames; the next ones follow as `_openagents/frame`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Frames {
    /// Oldest first; empty when the frames were stopped.
    #[serde(default)]
    pub frames: Vec<Frame>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Frame {
    /// 1, 2, 3 … since the bridge started.
    pub n: u64,
    /// When it was sent or received.
    pub ts: i64,
    pub connection: String,
    /// The endpoint: `acp` or `ios`.
    pub endpoint: String,
    /// The client's name; may be empty.
    pub client: String,
    /// `in` to the bridge, `out` of it.
    #[ts(type = "'in' | 'out'")]
    pub direction: String,
    /// Its size.
    pub bytes: usize,
    /// Its text, at most 64 KiB.
    pub json: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(type = "string | number | null")]
    pub id: Option<Value>,
}
