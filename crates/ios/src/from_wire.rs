//! Parses requests of the app. Lenient: each generation of the app omits different fields.

use openagents_connection::fault::Fault;
use openagents_sessions::DEFAULT_MODE;
use openagents_wire::Scope;
use serde_json::Value;

#[derive(Debug, PartialEq)]
pub(super) enum IosCall {
    Initialize { client: String },
    NewSession,
    SetMode { session_id: Option<String>, mode: String },
    Prompt { session_id: String, text: String },
    Cancel { session_id: String },
    Explore { root: Option<String>, goals: Vec<String> },
    RecentSessions,
    SessionTimeline { session_id: String, limit: Option<u64> },
    Threads { top_k: u64 },
    LatestThread,
}

impl IosCall {
    /// Returns the required scope: view, or prompt to start and stop turns.
    pub(super) fn needs(&self) -> Scope {
        match self {
            Self::Initialize { .. }
            | Self::RecentSessions
            | Self::SessionTimeline { .. }
            | Self::Threads { .. }
            | Self::LatestThread => Scope::View,
            Self::NewSession
            | Self::SetMode { .. }
            | Self::Prompt { .. }
            | Self::Cancel { .. }
            | Self::Explore { .. } => Scope::Prompt,
        }
    }

    pub(super) fn action(&self) -> Option<&'static str> {
        match self {
            Self::Prompt { .. } => Some("session/prompt"),
            Self::Cancel { .. } => Some("session/cancel"),
            Self::Explore { .. } => Some("orchestrate.explore.start"),
            _ => None,
        }
    }

    pub(super) fn session_id(&self) -> Option<&str> {
        match self {
            Self::Prompt { session_id, .. }
            | Self::Cancel { session_id }
            | Self::SessionTimeline { session_id, .. } => Some(session_id),
            Self::SetMode { session_id, .. } => session_id.as_deref(),
            _ => None,
        }
    }
}

type ParseParams = fn(&Value) -> Result<IosCall, Fault>;

const METHODS: &[(&str, ParseParams)] = &[
    ("initialize", initialize),
    ("session/new", |_| Ok(IosCall::NewSession)),
    ("session/set_mode", set_mode),
    ("session/prompt", prompt),
    ("session/cancel", |params| {
        Ok(IosCall::Cancel { session_id: session_id(params, "Missing session_id")? })
    }),
    ("orchestrate.explore.start", explore),
    ("tinyvex/history.recentSessions", |_| Ok(IosCall::RecentSessions)),
    ("tinyvex/history.sessionTimeline", timeline),
    ("threads/list", |params| {
        Ok(IosCall::Threads { top_k: params.get("topK").and_then(Value::as_u64).unwrap_or(10).clamp(1, 10) })
    }),
    ("thread/load_latest_typed", |_| Ok(IosCall::LatestThread)),
];

pub(super) fn parse_call(method: &str, params: &Value) -> Result<IosCall, Fault> {
    let known = METHODS.iter().find(|(name, _)| *name == method);
    known.map_or_else(|| Err(Fault::method_not_found(method)), |(_, parse)| parse(params))
}

fn initialize(params: &Value) -> Result<IosCall, Fault> {
    let info = params.get("client_info");
    let client = ["title", "name"].iter().find_map(|key| info?.get(key)?.as_str());
    Ok(IosCall::Initialize { client: client.unwrap_or_default().to_owned() })
}

fn set_mode(params: &Value) -> Result<IosCall, Fault> {
    let mode = params.get("mode_id").and_then(Value::as_str).unwrap_or(DEFAULT_MODE);
    let session_id = params.get("session_id").and_then(Value::as_str).map(str::to_owned);
    Ok(IosCall::SetMode { session_id, mode: normal_mode(mode).to_owned() })
}

/// Maps the mode ids of all generations of the app and its tools.
fn normal_mode(mode: &str) -> &str {
    match mode {
        "codex" => "codex",
        "claude-code" | "claude_code" => "claude-code",
        "gptoss_20b" | "local" | "llama_cpp" => "gptoss_20b",
        _ => DEFAULT_MODE,
    }
}

fn prompt(params: &Value) -> Result<IosCall, Fault> {
    let session_id = session_id(params, "Invalid session/prompt parameters")?;
    let blocks = params.get("prompt").or_else(|| params.get("content"));
    let text = match blocks {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(blocks)) => {
            let texts = blocks.iter().filter_map(|block| block.get("text").and_then(Value::as_str));
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => return Err(Fault::invalid_params("Invalid session/prompt parameters")),
    };
    // An empty prompt is refused in its session, where the user sees it.
    Ok(IosCall::Prompt { session_id, text: text.trim().to_owned() })
}

fn explore(params: &Value) -> Result<IosCall, Fault> {
    let invalid = || Fault::invalid_params("Invalid params");
    let root = match params.get("root") {
        None | Some(Value::Null) => None,
        Some(Value::String(root)) => Some(root.clone()).filter(|root| !root.is_empty()),
        Some(_) => return Err(invalid()),
    };
    let goals = match params.get("goals") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(goals)) => goals.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        Some(_) => return Err(invalid()),
    };
    Ok(IosCall::Explore { root, goals })
}

fn timeline(params: &Value) -> Result<IosCall, Fault> {
    let session_id = session_id(params, "Missing required parameter: session_id")?;
    Ok(IosCall::SessionTimeline { session_id, limit: params.get("limit").and_then(Value::as_u64) })
}

fn session_id(params: &Value, missing: &str) -> Result<String, Fault> {
    let id = params.get("session_id").and_then(Value::as_str).filter(|id| !id.is_empty());
    id.map(str::to_owned).ok_or_else(|| Fault::invalid_params(missing))
}
