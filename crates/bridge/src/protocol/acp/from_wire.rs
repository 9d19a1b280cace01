//! Parses ACP methods into calls. One table holds every method, its params and the scope it needs.

use super::history::SessionSearch;
use crate::{
    base::{error::Fault, scope::Scope},
    devices::commands::DeviceCommand,
    protocol::{
        acp::{
            approvals,
            history::{HistoryFind, HistoryLine, HistoryPage, HistoryPart},
            past_sessions::{HistoryChange, SessionLabel},
        },
        services::PrivacyChange,
    },
};
use agent_client_protocol_schema::v1::{
    AGENT_METHOD_NAMES as ACP, CancelNotification, CloseSessionRequest, ContentBlock, DeleteSessionRequest,
    EmbeddedResourceResource, InitializeRequest, ListSessionsRequest, LoadSessionRequest, NewSessionRequest,
    PromptRequest, ResumeSessionRequest, SetSessionModeRequest,
};
use openagents_core::{
    agent::AgentCommand,
    model::{ModelCommand, PromptOptions},
    text::fenced,
    trust::AgentFiles,
};
use openagents_orchestration::explore::PlannerChoice;
use openagents_sessions::{Policy, PromptContent};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

/// A parsed request or notification.
#[derive(Debug)]
pub(crate) enum Call {
    Initialize(Box<InitializeRequest>),
    NewSession(NewSessionRequest),
    ListSessions(ListSessionsRequest),
    LoadSession(LoadSessionRequest),
    ResumeSession(ResumeSessionRequest),
    CloseSession(CloseSessionRequest),
    DeleteSession(DeleteSessionRequest),
    Prompt(PromptRequest),
    Cancel(CancelNotification),
    SetMode(SetSessionModeRequest),
    Explore(Explore),
    Attach(Attach),
    Detach(Detach),
    RemoveQueued(RemoveQueued),
    Update(Update),
    Markdown(Markdown),
    Inspect(Inspect),
    Workspaces,
    ListHistory(HistoryPage),
    ReadHistory(HistoryPart),
    ReadHistoryLine(HistoryLine),
    FindInHistory(HistoryFind),
    WatchHistory,
    HistorySettings(List),
    ConfigureHistory(HistoryChange),
    ClearHistoryIndex,
    SearchSessions(SessionSearch),
    LabelSession(SessionLabel),
    TrustedWorkspaces(List),
    TrustWorkspace(WorkspacePath),
    RevokeTrust(WorkspacePath),
    Models(List),
    Model(ModelCommand),
    Agents(List),
    Agent(AgentCommand),
    Decisions,
    Privacy(List),
    SetPrivacy(PrivacyChange),
    AnswerApproval(approvals::ApprovalAnswer),
    ResumeApproval(approvals::ApprovalResume),
    Rules,
    RevokeRules(approvals::RuleRevocation),
    Delegate(Delegate),
    Devices(List),
    Device(DeviceCommand),
    Audit(Audit),
    Me,
    Leave,
}

/// Params of `_openagents/explore`.
#[derive(Debug, Deserialize)]
pub(crate) struct Explore {
    pub(crate) root: std::path::PathBuf,
    #[serde(default)]
    pub(crate) goals: Vec<String>,
    /// The planner of the exploration.
    #[serde(default)]
    pub(crate) planner: PlannerChoice,
    /// Accepted without effect: an exploration uses neither the network nor external models.
    #[serde(default, rename = "policy")]
    _policy: PolicyParams,
}

/// Params of `_openagents/attach`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Attach {
    pub(crate) session_id: String,
    #[serde(default)]
    pub(crate) since: u64,
    /// Whether a long log may be sent folded.
    #[serde(default)]
    pub(crate) snapshot: Option<bool>,
}

/// Params of `_openagents/detach`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Detach {
    pub(crate) session_id: String,
}

/// Params of `_openagents/queue/remove`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RemoveQueued {
    pub(crate) session_id: String,
    pub(crate) id: String,
}

/// Params of `_openagents/update`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Update {
    pub(crate) session_id: String,
    pub(crate) seq: u64,
    #[serde(default)]
    pub(crate) offset: usize,
    #[serde(default)]
    pub(crate) limit: Option<usize>,
}

/// Params of `_openagents/delegate`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Delegate {
    pub(crate) session_id: String,
    /// The arguments of the tool `delegate.run`.
    pub(crate) arguments: Value,
}

/// Params of `_openagents/markdown`.
#[derive(Debug, Deserialize)]
pub(crate) struct Markdown {
    pub(crate) text: String,
}

/// Params of `_openagents/inspect`.
#[derive(Debug, Deserialize)]
pub(crate) struct Inspect {
    /// `true` sends every frame from now on; `false` stops that.
    #[serde(default)]
    pub(crate) watch: Option<bool>,
}

/// Params of `_openagents/models/list` and the like.
#[derive(Debug, Deserialize)]
pub(crate) struct List {
    /// Whether to notify about changes from now on.
    #[serde(default)]
    pub(crate) watch: bool,
}

/// Params of `_openagents/trust/add` and `_openagents/trust/revoke`.
#[derive(Debug, Deserialize)]
pub(crate) struct WorkspacePath {
    pub(crate) path: std::path::PathBuf,
    /// The agent settings that the user saw before trusting the folder; the call fails if they have changed.
    #[serde(default)]
    pub(crate) seen: Option<AgentFiles>,
}

/// Params of `_openagents/devices/audit`.
#[derive(Debug, Deserialize)]
pub(crate) struct Audit {
    pub(crate) limit: Option<usize>,
    /// Return only entries with an id below this one.
    pub(crate) before: Option<i64>,
}

/// The longest prompt id that a client may choose, in bytes; a longer one is ignored.
const PROMPT_ID_BYTES: usize = 128;

/// A parser, called with the last segment of the method and the params.
type Read = fn(&str, Value) -> Result<Call, Fault>;

/// A method of this endpoint: its name, the scope it needs, and its parser.
pub(super) struct Method {
    pub(super) name: &'static str,
    pub(super) needs: Scope,
    read: Read,
}

/// Every method of this endpoint.
const METHODS: &[(&str, Scope, Read)] = &[
    (ACP.initialize, Scope::View, |_, params| Ok(Call::Initialize(Box::new(read(params)?)))),
    (ACP.session_new, Scope::Prompt, |_, params| Ok(Call::NewSession(read(with_servers(params))?))),
    (ACP.session_list, Scope::View, |_, params| Ok(Call::ListSessions(read(params)?))),
    (ACP.session_load, Scope::View, |_, params| Ok(Call::LoadSession(read(with_cwd(with_servers(params)))?))),
    (ACP.session_resume, Scope::View, |_, params| Ok(Call::ResumeSession(read(with_cwd(params))?))),
    (ACP.session_close, Scope::Prompt, |_, params| Ok(Call::CloseSession(read(params)?))),
    // For a session without prompts; any other session needs `Admin`.
    (ACP.session_delete, Scope::Prompt, |_, params| Ok(Call::DeleteSession(read(params)?))),
    (ACP.session_prompt, Scope::Prompt, |_, params| Ok(Call::Prompt(read(params)?))),
    (ACP.session_cancel, Scope::Prompt, |_, params| Ok(Call::Cancel(read(params)?))),
    (ACP.session_set_mode, Scope::Prompt, |_, params| Ok(Call::SetMode(read(params)?))),
    ("_openagents/explore", Scope::Prompt, |_, params| Ok(Call::Explore(read(params)?))),
    ("_openagents/attach", Scope::View, |_, params| Ok(Call::Attach(read(params)?))),
    ("_openagents/detach", Scope::View, |_, params| Ok(Call::Detach(read(params)?))),
    ("_openagents/queue/remove", Scope::Prompt, |_, params| Ok(Call::RemoveQueued(read(params)?))),
    ("_openagents/update", Scope::View, |_, params| Ok(Call::Update(read(params)?))),
    ("_openagents/markdown", Scope::View, |_, params| Ok(Call::Markdown(read(params)?))),
    ("_openagents/approvals/answer", Scope::Approve, |_, params| Ok(Call::AnswerApproval(read(params)?))),
    ("_openagents/approvals/resume", Scope::Prompt, |_, params| Ok(Call::ResumeApproval(read(params)?))),
    ("_openagents/approvals/rules", Scope::Approve, |_, _| Ok(Call::Rules)),
    ("_openagents/approvals/revoke", Scope::Approve, |_, params| Ok(Call::RevokeRules(read(params)?))),
    ("_openagents/delegate", Scope::Prompt, |_, params| Ok(Call::Delegate(read(params)?))),
    ("_openagents/workspaces", Scope::View, |_, _| Ok(Call::Workspaces)),
    ("_openagents/history/list", Scope::View, |_, params| Ok(Call::ListHistory(read(params)?))),
    ("_openagents/history/read", Scope::View, |_, params| Ok(Call::ReadHistory(read(params)?))),
    ("_openagents/history/line", Scope::View, |_, params| Ok(Call::ReadHistoryLine(read(params)?))),
    ("_openagents/history/find", Scope::View, |_, params| Ok(Call::FindInHistory(read(params)?))),
    ("_openagents/history/watch", Scope::View, |_, _| Ok(Call::WatchHistory)),
    ("_openagents/history/settings", Scope::View, |_, params| Ok(Call::HistorySettings(read(params)?))),
    ("_openagents/history/configure", Scope::Admin, |_, params| Ok(Call::ConfigureHistory(read(params)?))),
    // The index is rebuilt if it is switched on.
    ("_openagents/history/clear", Scope::Admin, |_, _| Ok(Call::ClearHistoryIndex)),
    ("_openagents/history/rebuild", Scope::Admin, |_, _| Ok(Call::ClearHistoryIndex)),
    ("_openagents/sessions/search", Scope::View, |_, params| Ok(Call::SearchSessions(read(params)?))),
    ("_openagents/sessions/label", Scope::Prompt, |_, params| Ok(Call::LabelSession(read(params)?))),
    ("_openagents/trust/list", Scope::View, |_, params| Ok(Call::TrustedWorkspaces(read(params)?))),
    // Allowed only on this computer.
    ("_openagents/trust/add", Scope::Admin, |_, params| Ok(Call::TrustWorkspace(read(params)?))),
    ("_openagents/trust/revoke", Scope::Admin, |_, params| Ok(Call::RevokeTrust(read(params)?))),
    ("_openagents/devices/list", Scope::Admin, |_, params| Ok(Call::Devices(read(params)?))),
    ("_openagents/devices/pair", Scope::Admin, device),
    ("_openagents/devices/stop_pairing", Scope::Admin, device),
    ("_openagents/devices/allow", Scope::Admin, device),
    ("_openagents/devices/decline", Scope::Admin, device),
    ("_openagents/devices/rename", Scope::Admin, device),
    ("_openagents/devices/scope", Scope::Admin, device),
    ("_openagents/devices/revoke", Scope::Admin, device),
    ("_openagents/devices/network", Scope::Admin, device),
    ("_openagents/devices/audit", Scope::Admin, |_, params| Ok(Call::Audit(read(params)?))),
    ("_openagents/devices/me", Scope::View, |_, _| Ok(Call::Me)),
    ("_openagents/devices/leave", Scope::View, |_, _| Ok(Call::Leave)),
    ("_openagents/models/list", Scope::View, |_, params| Ok(Call::Models(read(params)?))),
    ("_openagents/models/download", Scope::Admin, model),
    ("_openagents/models/pause", Scope::Admin, model),
    ("_openagents/models/cancel", Scope::Admin, model),
    ("_openagents/models/verify", Scope::Admin, model),
    ("_openagents/models/repair", Scope::Admin, model),
    ("_openagents/models/remove", Scope::Admin, model),
    ("_openagents/models/add", Scope::Admin, model),
    ("_openagents/models/use", Scope::Admin, model),
    ("_openagents/models/load", Scope::Admin, model),
    ("_openagents/models/unload", Scope::Admin, model),
    ("_openagents/models/configure", Scope::Admin, model),
    ("_openagents/agents/list", Scope::View, |_, params| Ok(Call::Agents(read(params)?))),
    ("_openagents/agents/decisions", Scope::View, |_, _| Ok(Call::Decisions)),
    ("_openagents/agents/check", Scope::Admin, agent),
    ("_openagents/agents/add", Scope::Admin, agent),
    ("_openagents/agents/remove", Scope::Admin, agent),
    ("_openagents/agents/configure", Scope::Admin, agent),
    ("_openagents/privacy/list", Scope::View, |_, params| Ok(Call::Privacy(read(params)?))),
    ("_openagents/privacy/set", Scope::Admin, |_, params| Ok(Call::SetPrivacy(read(params)?))),
    (INSPECT, Scope::Admin, |_, params| Ok(Call::Inspect(read(params)?))),
];

/// The debug stream, which does not include its own frames.
pub(crate) const INSPECT: &str = "_openagents/inspect";

/// Finds a method by its name.
pub(super) fn method(name: &str) -> Result<Method, Fault> {
    let known = METHODS.iter().find(|(known, _, _)| *known == name);
    let &(name, needs, read) = known.ok_or_else(|| Fault::method_not_found(name))?;
    Ok(Method { name, needs, read })
}

/// Parses a call made with `scope`.
#[cfg(any(test, fuzzing))]
pub(crate) fn call(name: &str, params: Value, scope: Scope) -> Result<Call, Fault> {
    method(name)?.call(params, scope)
}

impl Method {
    /// Parses a call made with `scope`.
    pub(super) fn call(&self, params: Value, scope: Scope) -> Result<Call, Fault> {
        if scope < self.needs {
            return Err(Fault::out_of_scope(scope));
        }
        let params = if params.is_null() { Value::Object(Default::default()) } else { params };
        (self.read)(self.name.rsplit('/').next().unwrap_or_default(), params)
    }
}

fn model(verb: &str, params: Value) -> Result<Call, Fault> {
    command(verb, params).map(Call::Model)
}

fn agent(verb: &str, params: Value) -> Result<Call, Fault> {
    command(verb, params).map(Call::Agent)
}

fn device(verb: &str, params: Value) -> Result<Call, Fault> {
    command(verb, params).map(Call::Device)
}

/// Reads a command whose variant is `verb` and whose fields are `params`.
fn command<C: DeserializeOwned>(verb: &str, params: Value) -> Result<C, Fault> {
    // A variant without fields: the params are ignored.
    match serde_json::from_value(Value::from(verb)) {
        Ok(command) => Ok(command),
        Err(_) => read(Value::Object([(verb.to_owned(), params)].into_iter().collect())),
    }
}

/// Returns the session whose turn a call cancels.
pub(crate) fn cancelled(method: &str, params: Value) -> Option<String> {
    if method != ACP.session_cancel {
        return None;
    }
    let cancel: CancelNotification = read(params).ok()?;
    Some(cancel.session_id.0.to_string())
}

fn read<T: DeserializeOwned>(params: Value) -> Result<T, Fault> {
    serde_json::from_value(params).map_err(|error| Fault::invalid_params(format!("Invalid params: {error}.")))
}

/// Adds empty `mcpServers` if missing: we start no MCP servers, so a client may omit them.
fn with_servers(params: Value) -> Value {
    with(params, "mcpServers", Value::Array(Vec::new()))
}

/// Adds an empty `cwd` if missing: a stored session has its own.
fn with_cwd(params: Value) -> Value {
    with(params, "cwd", Value::String(String::new()))
}

fn with(mut params: Value, key: &str, default: Value) -> Value {
    if let Some(members) = params.as_object_mut() {
        members.entry(key).or_insert(default);
    }
    params
}

/// Returns the id that the client chose for its prompt.
pub(super) fn prompt_id(ours: Option<&Value>) -> Option<String> {
    let id = ours.and_then(|ours| ours.get("promptId")).and_then(Value::as_str);
    id.filter(|id| !id.is_empty() && id.len() <= PROMPT_ID_BYTES).map(str::to_owned)
}

/// Returns the options of a prompt.
pub(super) fn prompt_options(ours: Option<&Value>) -> Result<PromptOptions, Fault> {
    let Some(options) = ours.and_then(|ours| ours.get("options")) else {
        return Ok(PromptOptions::default());
    };
    let options: PromptOptions = serde_json::from_value(options.clone())
        .map_err(|error| Fault::invalid_params(format!("_meta.openagents.options: {error}")))?;
    options.check().map_err(Fault::invalid_params)?;
    Ok(options)
}

/// Reads a prompt. Links appear as URIs; attachments follow the text in code fences.
pub(crate) fn said(blocks: &[ContentBlock]) -> PromptContent {
    let (mut written, mut words, mut attached) = (Vec::new(), Vec::new(), String::new());
    for block in blocks {
        match block {
            ContentBlock::Text(text) => {
                written.push(text.text.as_str());
                words.push(text.text.as_str());
            }
            ContentBlock::ResourceLink(link) => written.push(&link.uri),
            ContentBlock::Resource(resource) => {
                if let EmbeddedResourceResource::TextResourceContents(file) = &resource.resource {
                    attached.push_str(&format!("\n\n{}\n{}", file.uri, fenced(&file.text)));
                }
            }
            _ => {}
        }
    }
    let words = words.join("\n").trim().to_owned();
    let text = format!("{}{attached}", written.join("\n").trim()).trim().to_owned();
    PromptContent { words: (words != text).then_some(words), ..PromptContent::from(text) }
}

/// The policy of a session, as sent by the client.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct PolicyParams {
    /// `false` keeps prompts on this machine whatever the settings allow; if absent, the settings decide.
    #[serde(alias = "allowNetwork")]
    allow_network: Option<bool>,
    /// Whether prompts may be routed to external agents and models that they do not name.
    #[serde(alias = "allowExternalLlms")]
    allow_external_llms: bool,
}

/// Returns the policy for a session that an admin creates. Other clients' sessions have the default.
pub(super) fn policy(ours: Option<&Value>) -> Policy {
    let policy = ours.and_then(|ours| ours.get("policy")).cloned();
    let PolicyParams { allow_network, allow_external_llms } =
        policy.and_then(|policy| serde_json::from_value(policy).ok()).unwrap_or_default();
    Policy { stays_here: allow_network == Some(false), allow_external_llms, answers: None }
}

#[cfg(test)]
mod policy_tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn forbidding_the_network_differs_from_saying_nothing() {
        for (sent, stays_here, allow_external_llms) in [
            (json!({}), false, false),
            (json!({"policy": {"allow_network": true}}), false, false),
            (json!({"policy": {"allowNetwork": false, "allowExternalLlms": true}}), true, true),
            (json!({"policy": {"allow_network": "?"}}), false, false),
        ] {
            let expected = Policy { stays_here, allow_external_llms, answers: None };
            assert_eq!(policy(Some(&sent)), expected, "{sent}");
        }
    }
}
