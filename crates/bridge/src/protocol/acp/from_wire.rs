//! Parses ACP methods into calls. One table holds every method, its params and the scope it needs.

use crate::protocol::acp::{agents, approvals, devices, models};
use crate::{base::error::Fault, base::scope::Scope, devices::commands::Command};
use agent_client_protocol_schema::v1::{
    AGENT_METHOD_NAMES as ACP, CancelNotification, CloseSessionRequest, ContentBlock, DeleteSessionRequest,
    EmbeddedResourceResource, InitializeRequest, ListSessionsRequest, LoadSessionRequest, NewSessionRequest,
    PromptRequest, ResumeSessionRequest, SetSessionModeRequest,
};
use openagents_core::{
    agent::AgentCommand,
    explore::PlannerChoice,
    model::{ModelCommand, PromptOptions},
};
use openagents_sessions::{Policy, Said};
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
    Inspect,
    Workspaces,
    Models(models::List),
    Model(ModelCommand),
    Agents(agents::List),
    Agent(AgentCommand),
    Decisions,
    AnswerApproval(approvals::Answer),
    ResumeApproval(approvals::Resume),
    Delegate(Delegate),
    Devices(devices::List),
    Device(Command),
    Audit(devices::Audit),
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
    _policy: Policy,
}

/// Params of `_openagents/attach`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Attach {
    pub(crate) session_id: String,
    #[serde(default)]
    pub(crate) since: u64,
    /// A long log may be sent folded.
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

/// The longest prompt id that a client may choose, in bytes; a longer one is ignored.
const PROMPT_ID_BYTES: usize = 128;

type Read = fn(Value) -> Result<Call, Fault>;
type ReadVerb = fn(&str, Value) -> Result<Call, Fault>;

/// Every method of this endpoint: its name, the scope it needs, and its parser.
const METHODS: &[(&str, Scope, Read)] = &[
    (ACP.initialize, Scope::View, |params| Ok(Call::Initialize(Box::new(read(params)?)))),
    (ACP.session_new, Scope::Prompt, |params| Ok(Call::NewSession(read(with_servers(params))?))),
    (ACP.session_list, Scope::View, |params| Ok(Call::ListSessions(read(params)?))),
    (ACP.session_load, Scope::View, |params| Ok(Call::LoadSession(read(with_cwd(with_servers(params)))?))),
    (ACP.session_resume, Scope::View, |params| Ok(Call::ResumeSession(read(with_cwd(params))?))),
    (ACP.session_close, Scope::Prompt, |params| Ok(Call::CloseSession(read(params)?))),
    (ACP.session_delete, Scope::Prompt, |params| Ok(Call::DeleteSession(read(params)?))),
    (ACP.session_prompt, Scope::Prompt, |params| Ok(Call::Prompt(read(params)?))),
    (ACP.session_cancel, Scope::Prompt, |params| Ok(Call::Cancel(read(params)?))),
    (ACP.session_set_mode, Scope::Prompt, |params| Ok(Call::SetMode(read(params)?))),
    ("_openagents/explore", Scope::Prompt, |params| Ok(Call::Explore(read(params)?))),
    ("_openagents/attach", Scope::View, |params| Ok(Call::Attach(read(params)?))),
    ("_openagents/detach", Scope::View, |params| Ok(Call::Detach(read(params)?))),
    ("_openagents/queue/remove", Scope::Prompt, |params| Ok(Call::RemoveQueued(read(params)?))),
    ("_openagents/update", Scope::View, |params| Ok(Call::Update(read(params)?))),
    ("_openagents/markdown", Scope::View, |params| Ok(Call::Markdown(read(params)?))),
    ("_openagents/approvals/answer", Scope::Approve, |params| Ok(Call::AnswerApproval(read(params)?))),
    ("_openagents/approvals/resume", Scope::Prompt, |params| Ok(Call::ResumeApproval(read(params)?))),
    ("_openagents/delegate", Scope::Prompt, |params| Ok(Call::Delegate(read(params)?))),
    ("_openagents/workspaces", Scope::View, |_| Ok(Call::Workspaces)),
    ("_openagents/devices/list", Scope::Admin, |params| Ok(Call::Devices(read(params)?))),
    ("_openagents/devices/pair", Scope::Admin, |_| Ok(Call::Device(Command::Offer))),
    ("_openagents/devices/stop_pairing", Scope::Admin, |_| Ok(Call::Device(Command::StopPairing))),
    ("_openagents/devices/allow", Scope::Admin, devices::allow),
    ("_openagents/devices/decline", Scope::Admin, devices::decline),
    ("_openagents/devices/rename", Scope::Admin, devices::rename),
    ("_openagents/devices/scope", Scope::Admin, devices::scope),
    ("_openagents/devices/revoke", Scope::Admin, devices::revoke),
    ("_openagents/devices/network", Scope::Admin, devices::network),
    ("_openagents/devices/audit", Scope::Admin, |params| Ok(Call::Audit(read(params)?))),
    ("_openagents/devices/me", Scope::View, |_| Ok(Call::Me)),
    ("_openagents/devices/leave", Scope::View, |_| Ok(Call::Leave)),
    (INSPECT, Scope::Admin, |_| Ok(Call::Inspect)),
];

/// The debug stream, which does not include its own frames.
pub(crate) const INSPECT: &str = "_openagents/inspect";

/// Parses a call made with `scope`.
pub(crate) fn call(method: &str, params: Value, scope: Scope) -> Result<Call, Fault> {
    let params = if params.is_null() { Value::Object(Default::default()) } else { params };
    if scope < needed(method).ok_or_else(|| Fault::method_not_found(method))? {
        return Err(Fault::out_of_scope(scope));
    }
    if let Some((verb, read)) = family(method) {
        return read(verb, params);
    }
    let known = METHODS.iter().find(|(name, _, _)| *name == method);
    known.map_or_else(|| Err(Fault::method_not_found(method)), |(_, _, read)| read(params))
}

/// Returns the scope that a method needs; `None` if the method is unknown.
pub(crate) fn needed(method: &str) -> Option<Scope> {
    // Every client may list; only an admin may change.
    match family(method) {
        Some(("list" | "decisions", _)) => Some(Scope::View),
        Some(_) => Some(Scope::Admin),
        None => METHODS.iter().find(|(name, _, _)| *name == method).map(|(_, needed, _)| *needed),
    }
}

fn family(method: &str) -> Option<(&str, ReadVerb)> {
    let of_models = method.strip_prefix(models::PREFIX).map(|verb| (verb, models::call as ReadVerb));
    of_models.or_else(|| method.strip_prefix(agents::PREFIX).map(|verb| (verb, agents::call as ReadVerb)))
}

/// Returns the session whose turn a call cancels.
pub(crate) fn cancelled(method: &str, params: Value) -> Option<String> {
    if method != ACP.session_cancel {
        return None;
    }
    let cancel: CancelNotification = read(params).ok()?;
    Some(cancel.session_id.0.to_string())
}

pub(super) fn read<T: DeserializeOwned>(params: Value) -> Result<T, Fault> {
    serde_json::from_value(params).map_err(|error| Fault::invalid_params(format!("Invalid params: {error}.")))
}

/// We start no MCP servers, so a client may omit them.
fn with_servers(params: Value) -> Value {
    with(params, "mcpServers", Value::Array(Vec::new()))
}

/// A stored session has its own `cwd`.
fn with_cwd(params: Value) -> Value {
    with(params, "cwd", Value::String(String::new()))
}

fn with(mut params: Value, key: &str, default: Value) -> Value {
    if let Some(members) = params.as_object_mut() {
        members.entry(key).or_insert(default);
    }
    params
}

/// Returns the policy for a session that an admin creates. Other clients' sessions have the default.
pub(super) fn policy(ours: Option<&Value>) -> Policy {
    let policy = ours.and_then(|ours| ours.get("policy")).cloned();
    policy.and_then(|policy| serde_json::from_value(policy).ok()).unwrap_or_default()
}

/// Returns the client's own id for its prompt.
pub(super) fn prompt_id(ours: Option<&Value>) -> Option<String> {
    let id = ours.and_then(|ours| ours.get("promptId")).and_then(Value::as_str);
    id.filter(|id| !id.is_empty() && id.len() <= PROMPT_ID_BYTES).map(str::to_owned)
}

/// Returns what the prompt asks for beside its text.
pub(super) fn prompt_options(ours: Option<&Value>) -> Result<PromptOptions, Fault> {
    let Some(options) = ours.and_then(|ours| ours.get("options")) else {
        return Ok(PromptOptions::default());
    };
    let options: PromptOptions = serde_json::from_value(options.clone())
        .map_err(|error| Fault::invalid_params(format!("_meta.openagents.options: {error}")))?;
    options.check().map_err(Fault::invalid_params)?;
    Ok(options)
}

/// Reads a prompt. Links appear as their URI; attachments follow the text, fenced.
pub(crate) fn said(blocks: &[ContentBlock]) -> Said {
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
                    let fence = fence(&file.text);
                    let text = file.text.trim_end_matches('\n');
                    attached.push_str(&format!("\n\n{}\n{fence}\n{text}\n{fence}", file.uri));
                }
            }
            _ => {}
        }
    }
    let words = words.join("\n").trim().to_owned();
    let text = format!("{}{attached}", written.join("\n").trim()).trim().to_owned();
    Said { words: (words != text).then_some(words), text }
}

/// Returns a code fence longer than any run of backticks in `text`.
fn fence(text: &str) -> String {
    let longest = text.split(|sign| sign != '`').map(str::len).max().unwrap_or_default();
    "`".repeat(longest.saturating_add(1).max(3))
}
