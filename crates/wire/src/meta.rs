//! Our members of `_meta` objects: `{"_meta": {"openagents": {…}}}`.

use openagents_core::{
    approval::{Approval, ApprovalCommand},
    model::{PromptOptions, Usage},
    update::{Asking, Decision, Findings, PromptImage, Summary},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};
use ts_rs::TS;

/// A `_meta` object.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct Meta<T> {
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    pub openagents: Option<T>,
}

fn none<T>() -> Option<T> {
    None
}

/// Returns a `_meta` object with our members.
pub fn meta(ours: &impl Serialize) -> Map<String, Value> {
    Map::from_iter([("openagents".to_owned(), serde_json::to_value(ours).unwrap_or_default())])
}

/// Reads our members of a `_meta` object. Those that are missing or cannot be read have their defaults.
pub fn ours<T: DeserializeOwned + Default>(meta: Option<&Map<String, Value>>) -> T {
    let Some(ours) = meta.and_then(|meta| meta.get("openagents")) else { return T::default() };
    T::deserialize(ours).unwrap_or_else(|_| {
        let members = ours.as_object().into_iter().flatten();
        let readable = members.filter(|(name, value)| T::deserialize(json!({*name: *value})).is_ok());
        let readable = readable.map(|(name, value)| (name.clone(), value.clone())).collect();
        T::deserialize(Value::Object(readable)).unwrap_or_default()
    })
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(default, rename_all = "camelCase")]
pub struct UpdateMeta {
    /// The number of the update in its session, or the line in the log of another agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// When it was stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ts: Option<i64>,
    /// Part of a snapshot: it replaces several updates, and `seq` is the number of the last one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub folded: bool,
    /// When the last of those updates was stored, if that is another time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_ts: Option<i64>,
    /// The call that started the delegate to whose session the update belongs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_call_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_session_id: Option<String>,
    /// The user took the turn back, in the log of another agent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub undone: bool,
    /// `store_failed`: the log cannot be written, and this is not in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// `_meta.openagents` of a value of a `SessionConfigOption`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct OptionValueMeta {
    /// What the agent asks with it; absent if it does not decide that, or if it is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asks: Option<Asking>,
}

/// `_meta.openagents` of what an agent reports: `available_commands_update`, `config_option_update`, `usage_update`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct StateMeta {
    /// Id of the agent.
    pub agent: String,
}

/// `_meta.openagents` of a `session_info_update` without a title.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct EditsMeta {
    /// Id of the agent.
    pub agent: String,
    /// Until its turn ends, the agent need not ask before it edits files in the workspace.
    pub edits_allowed: bool,
}

/// `_meta.openagents` of a `session_info_update` without a title.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct LoginMeta {
    /// Id of the agent.
    pub agent: String,
    /// It does no work until the user logs in.
    pub logged_out: bool,
}

/// `_meta.openagents` of a `notice`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct NoticeMeta {
    /// It replaces an earlier one with the same id.
    pub id: String,
    /// How often the agent has sent it.
    pub count: u32,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(default, rename_all = "camelCase")]
pub struct PromptMeta {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection: Option<String>,
    /// Name of the client that sent it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_id: Option<String>,
    /// It was removed from the queue before its turn.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub removed: bool,
    /// The agent got it during the turn that ran.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub steered: bool,
    /// `_openagents/images/read` returns each one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<PromptImage>,
}

/// Metadata of an agent's message or thought.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(default, rename_all = "camelCase")]
pub struct SpeechMeta {
    /// The summary of an exploration, on its last message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<Summary>,
    /// Findings. The text repeats them for clients that cannot draw them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub findings: Option<Findings>,
    /// The text is an overview of the workspace, for clients that cannot draw the one in the summary that follows.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_overview: bool,
    /// Figures of a model's answer, on its last chunk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ended: bool,
    /// Its turn failed; the text is the reason, after `❌ `.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
    /// It arrived after its turn was cancelled.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub late: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(default, rename_all = "camelCase")]
pub struct PlanMeta {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_id: Option<String>,
    /// The questions of an exploration.
    pub goals: Vec<String>,
    /// `running`, `complete`, `failed` or `cancelled`.
    pub state: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(default, rename_all = "camelCase")]
pub struct EntryMeta {
    /// Id of the op, which is also the id of its call.
    pub op_id: String,
    pub op_hash: u32,
    /// Name of its tool; empty in the plan of an agent.
    pub tool: String,
    /// Why it failed, or `not run`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(default, rename_all = "camelCase")]
pub struct ToolMeta {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub op_hash: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<String>,
    /// From 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<f64>,
    /// What it is doing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// A limit was reached: there is more than shown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// The time limit was reached.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
    /// Items that were skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub omitted: Option<u64>,
    /// The output was shortened for transport; `_openagents/update` returns all of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pruned: bool,
    /// The update with the whole output, if the call is folded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_seq: Option<u64>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// It arrived after its turn was cancelled.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub late: bool,
    /// The approval that the call waits for, or its outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Approval>,
    /// The session of the sub-agent that the call started, in the log of another agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_session_id: Option<String>,
}

/// Metadata of a terminal in a tool call, under `terminal`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(default, rename_all = "camelCase")]
pub struct TerminalMeta {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    pub output: String,
    /// The output is cut.
    pub truncated: bool,
    /// How it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// What ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
}

/// Metadata of the session info that reports where a prompt was routed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct RoutingMeta {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub routing: Option<Decision>,
}

/// Metadata of a row of `session/list`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(default, rename_all = "camelCase")]
pub struct SessionMeta {
    /// The number of its newest update.
    pub seq: u64,
    pub running: bool,
    /// Pending approvals.
    pub waiting: u64,
    /// When it last changed.
    pub last_ts: i64,
    /// What answers prompts.
    pub mode: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pinned: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub archived: bool,
    /// The session that started this one as a delegate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_session_id: Option<String>,
    /// The call that did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_call_id: Option<String>,
}

/// Metadata of the client's capabilities in `initialize`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(default, rename_all = "camelCase")]
pub struct ClientMeta {
    /// The client reads approvals from the log and answers them with `_openagents/approvals/answer`; it gets no
    /// `session/request_permission`.
    #[ts(optional, as = "Option<bool>")]
    pub approvals: bool,
    /// Over HTTP, the client reads the updates of all sessions from the stream of the connection.
    #[ts(optional, as = "Option<bool>")]
    pub one_stream: bool,
}

/// Metadata of the answer to `initialize`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ConnectionMeta {
    /// Identifies this client's own prompts in the log.
    pub connection: String,
    /// The folder in which the bridge was started.
    pub root: Option<String>,
    pub computer: String,
    /// What the client may do.
    #[serde(flatten)]
    pub access: crate::devices::Access,
}

/// Metadata of `session/list`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct ListMeta {
    /// Send later changes as `_openagents/sessions`.
    #[ts(optional, as = "Option<bool>")]
    pub watch: bool,
    /// List the sessions of delegates too.
    #[ts(optional, as = "Option<bool>")]
    pub children: bool,
}

/// Metadata of `session/new`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct NewSessionMeta {
    /// Open a folder that is not known yet; needs the scope `admin`.
    #[ts(optional, as = "Option<bool>")]
    pub open: bool,
    /// Which data may leave this machine; needs the scope `admin`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Policy>,
}

/// Which data of a session may leave this machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct Policy {
    /// `false` keeps prompts on this machine whatever the settings allow; if absent, the settings decide.
    #[serde(alias = "allowNetwork", default, skip_serializing_if = "Option::is_none")]
    pub allow_network: Option<bool>,
    /// Whether prompts may be routed to external agents and models that they do not name.
    #[serde(alias = "allowExternalLlms")]
    #[ts(optional, as = "Option<bool>")]
    pub allow_external_llms: bool,
}

/// Metadata of `session/prompt`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(default, rename_all = "camelCase")]
pub struct PromptParamsMeta {
    /// The client's own id for the prompt, at most 128 bytes; it comes back in the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<PromptOptions>,
}

/// Metadata of the answer to `session/prompt`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct EndMeta {
    /// `complete`, `failed` or `cancelled`: ACP has no stop reason for a turn that failed.
    pub state: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct ModeMeta {
    /// Prompts do not leave this machine.
    pub local: bool,
    /// Why it cannot be chosen, one sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unavailable: Option<String>,
}

/// Metadata of `session/request_permission`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct PermissionMeta {
    /// The agent's display name.
    pub agent: String,
    /// Equal requests have equal hashes.
    pub hash: String,
    /// The command that would run.
    pub command: Option<ApprovalCommand>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unreadable_member_leaves_the_others() {
        for (members, seq, ts) in [
            (json!({"seq": 7, "ts": 5}), Some(7), Some(5)),
            (json!({"seq": "seven", "ts": 5}), None, Some(5)),
            (json!({"seq": 7, "ts": [], "unknown": {}}), Some(7), None),
            (json!("nonsense"), None, None),
            (json!(null), None, None),
        ] {
            let meta = Map::from_iter([("openagents".to_owned(), members.clone())]);
            let read: UpdateMeta = ours(Some(&meta));
            assert_eq!((read.seq, read.ts), (seq, ts), "{members}");
        }
        assert_eq!(ours::<UpdateMeta>(None), UpdateMeta::default());
    }
}
