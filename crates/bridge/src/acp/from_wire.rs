//! Parses ACP methods into calls. Ours are in the table of `openagents_wire`.

use super::to_wire;
use agent_client_protocol_schema::v1::{
    AGENT_METHOD_NAMES as ACP, CancelNotification, CloseSessionRequest, ContentBlock, DeleteSessionRequest,
    EmbeddedResourceResource, ForkSessionRequest, ImageContent, InitializeRequest, ListSessionsRequest,
    LoadSessionRequest, Meta, NewSessionRequest, PromptRequest, ResumeSessionRequest,
    SessionConfigOptionValue, SetSessionConfigOptionRequest, SetSessionModeRequest,
};
use openagents_connection::fault::Fault;
use openagents_core::{
    model::PromptOptions,
    text::{fenced, prefix},
    update::OptionValue,
};
use openagents_sessions::{OptionChange, Policy, PromptContent};
use openagents_wire::{self as wire, METHODS, PromptParamsMeta, Scope};
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
    ForkSession(ForkSessionRequest),
    Prompt(PromptRequest),
    Cancel(CancelNotification),
    SetMode(SetSessionModeRequest),
    SetOption(SetSessionConfigOptionRequest),
    Ours(wire::Call),
}

/// The longest prompt id that a client may choose, in bytes; a longer one is ignored.
const PROMPT_ID_BYTES: usize = 128;

type Parse = fn(Value) -> Result<Call, Fault>;

/// The standard methods of this endpoint.
const STANDARD: &[(&str, Scope, Parse)] = &[
    (ACP.initialize, Scope::View, |params| Ok(Call::Initialize(Box::new(parse(params)?)))),
    (ACP.session_new, Scope::Prompt, |params| Ok(Call::NewSession(parse(with_servers(params))?))),
    (ACP.session_list, Scope::View, |params| Ok(Call::ListSessions(parse(params)?))),
    (ACP.session_load, Scope::View, |params| Ok(Call::LoadSession(parse(with_cwd(with_servers(params)))?))),
    (ACP.session_resume, Scope::View, |params| Ok(Call::ResumeSession(parse(with_cwd(params))?))),
    (ACP.session_close, Scope::Prompt, |params| Ok(Call::CloseSession(parse(params)?))),
    // For a session without prompts; any other session needs `Admin`.
    (ACP.session_delete, Scope::Prompt, |params| Ok(Call::DeleteSession(parse(params)?))),
    (ACP.session_fork, Scope::Prompt, |params| Ok(Call::ForkSession(parse(with_cwd(with_servers(params)))?))),
    (ACP.session_prompt, Scope::Prompt, |params| Ok(Call::Prompt(parse(params)?))),
    (ACP.session_cancel, Scope::Prompt, |params| Ok(Call::Cancel(parse(params)?))),
    (ACP.session_set_mode, Scope::Prompt, |params| Ok(Call::SetMode(parse(params)?))),
    // A value after which the agent may ask less needs `Approve`.
    (ACP.session_set_config_option, Scope::Prompt, |params| Ok(Call::SetOption(parse(params)?))),
];

pub(super) fn needed_scope(name: &str) -> Result<Scope, Fault> {
    let standard = STANDARD.iter().find(|(known, ..)| *known == name).map(|(_, needed, _)| *needed);
    let ours = || METHODS.iter().find(|method| method.name == name).and_then(|method| method.scope);
    standard.or_else(ours).ok_or_else(|| Fault::method_not_found(name))
}

/// Parses a call made with `scope`.
pub(crate) fn call(name: &str, params: Value, scope: Scope) -> Result<Call, Fault> {
    if scope < needed_scope(name)? {
        return Err(Fault::out_of_scope(scope));
    }
    let params = if params.is_null() { Value::Object(Default::default()) } else { params };
    match STANDARD.iter().find(|(known, ..)| *known == name) {
        Some((_, _, parse_call)) => parse_call(params),
        None => wire::Call::parse(name, params).map(Call::Ours).map_err(|error| invalid(&error)),
    }
}

fn invalid(error: &serde_json::Error) -> Fault {
    Fault::invalid_params(format!("Invalid params: {error}."))
}

/// Returns the session whose turn a call cancels.
pub(crate) fn cancelled(method: &str, params: Value) -> Option<String> {
    if method != ACP.session_cancel {
        return None;
    }
    let cancel: CancelNotification = parse(params).ok()?;
    Some(cancel.session_id.0.to_string())
}

fn parse<T: DeserializeOwned>(params: Value) -> Result<T, Fault> {
    serde_json::from_value(params).map_err(|error| invalid(&error))
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

pub(super) fn prompt_id(id: Option<String>) -> Option<String> {
    id.filter(|id| !id.is_empty() && id.len() <= PROMPT_ID_BYTES)
}

/// Returns our part of the `_meta` of a prompt. Options that cannot be read are an error: a prompt must not run with
/// others than the user asked for.
pub(super) fn prompt_meta(meta: Option<&Meta>) -> Result<PromptParamsMeta, Fault> {
    let ours: PromptParamsMeta = wire::ours(meta);
    match (&ours.options, meta.and_then(|meta| meta.get("openagents")?.get("options"))) {
        (Some(options), _) => options.check().map_err(Fault::invalid_params)?,
        (None, None | Some(Value::Null)) => {}
        (None, Some(options)) => {
            let read = PromptOptions::deserialize(options).map(drop);
            read.map_err(|error| Fault::invalid_params(format!("_meta.openagents.options: {error}")))?;
        }
    }
    Ok(ours)
}

/// Reads a change of an option, whose id begins with that of its agent.
pub(super) fn option_change(
    request: &SetSessionConfigOptionRequest,
    may_lower: bool,
) -> Result<OptionChange, Fault> {
    let id = &*request.config_id.0;
    let (agent, option) = id.split_once('/').ok_or_else(|| {
        let id = prefix(id, 100);
        Fault::invalid_params(format!("There is no option {id}."))
    })?;
    let value = match &request.value {
        SessionConfigOptionValue::Boolean { value } => {
            OptionValue::Select(to_wire::switch(*value).to_owned())
        }
        SessionConfigOptionValue::ValueId { value } => OptionValue::Select(value.0.to_string()),
        _ => return Err(Fault::invalid_params("The value is of an unknown type.")),
    };
    Ok(OptionChange { agent: agent.to_owned(), option: option.to_owned(), value, may_lower })
}

/// Returns the images of a prompt. What is neither text nor an image is refused: agents would not get it.
pub(super) fn images(blocks: Vec<ContentBlock>) -> Result<Vec<ImageContent>, Fault> {
    let mut images = Vec::new();
    for block in blocks {
        match block {
            ContentBlock::Image(image) => images.push(image),
            ContentBlock::Resource(resource) => {
                if let EmbeddedResourceResource::BlobResourceContents(file) = resource.resource {
                    let kind = file.mime_type.unwrap_or_default();
                    if !kind.starts_with("image/") {
                        let name = prefix(&file.uri, 200);
                        return Err(Fault::invalid_params(format!("{name} is neither text nor an image.")));
                    }
                    images.push(ImageContent::new(file.blob, kind));
                }
            }
            ContentBlock::Audio(_) => return Err(Fault::invalid_params("A prompt can't have audio.")),
            _ => {}
        }
    }
    Ok(images)
}

/// Reads a prompt. Links appear as URIs; attachments follow the text in code fences.
pub(crate) fn prompt_content(blocks: &[ContentBlock]) -> PromptContent {
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
    // What is pasted without a word is what the user says.
    let words = Some(words).filter(|words| !words.is_empty() && *words != text);
    PromptContent { words, ..PromptContent::from(text) }
}

/// Returns the policy for a session that an admin creates. Other clients' sessions have the default.
pub(super) fn policy(policy: Option<wire::Policy>) -> Policy {
    let wire::Policy { allow_network, allow_external_llms } = policy.unwrap_or_default();
    Policy { stays_here: allow_network == Some(false), allow_external_llms, answers: None }
}

#[cfg(test)]
mod tests {
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
            let ours: wire::NewSessionMeta = serde_json::from_value(sent.clone()).unwrap_or_default();
            assert_eq!(policy(ours.policy), expected, "{sent}");
        }
    }

    #[test]
    fn prompt_meta_ignores_malformed_members_but_not_options() {
        let read = |members: Value| prompt_meta(Some(&Meta::from_iter([("openagents".to_owned(), members)])));
        let ours = read(json!({"promptId": 7, "options": {"temperature": 0.5}})).unwrap();
        assert_eq!((ours.prompt_id, ours.options.and_then(|options| options.temperature)), (None, Some(0.5)));
        assert_eq!(read(json!({"promptId": "p", "options": null})).unwrap().prompt_id.as_deref(), Some("p"));
        assert_eq!(read(json!([])).unwrap(), PromptParamsMeta::default());
        let message = read(json!({"options": {"temperature": "hot"}})).unwrap_err().message;
        assert!(message.starts_with("_meta.openagents.options: "), "{message}");
    }
}
