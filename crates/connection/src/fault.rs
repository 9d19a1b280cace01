//! Errors at the boundary: a code for programs, a sentence for users, and an optional hint.

use openagents_core::{agent::AgentsError, model::LocalModelsError};
use openagents_sessions::{SessionError, store::StoreError};
use openagents_wire::Scope;
use serde_json::{Value, json};

/// A JSON-RPC error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Fault {
    pub code: i32,
    pub message: String,
    pub(crate) hint: Option<&'static str>,
    /// A code for programs, where the JSON-RPC code is not specific enough.
    pub(crate) kind: Option<&'static str>,
}

impl Fault {
    fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None, kind: None }
    }

    pub fn parse(reason: impl Into<String>) -> Self {
        Self::new(-32700, reason)
    }

    pub fn invalid_request(reason: impl Into<String>) -> Self {
        Self::new(-32600, reason)
    }

    pub fn method_not_found(method: &str) -> Self {
        Self::new(-32601, format!("Method not found: {}", openagents_core::text::prefix(method, 100)))
    }

    pub fn invalid_params(reason: impl Into<String>) -> Self {
        Self::new(-32602, reason)
    }

    pub fn internal(reason: impl Into<String>) -> Self {
        Self::new(-32603, reason)
    }

    pub fn not_found(what: impl Into<String>) -> Self {
        Self::new(-32002, what)
    }

    /// The device lacks the scope for a call.
    pub fn out_of_scope(scope: Scope) -> Self {
        let can = match scope {
            Scope::View => "only view",
            Scope::Prompt => "view and prompt",
            Scope::Approve => "view, prompt and approve",
            Scope::Admin => "do everything but this",
        };
        let message = format!("This device can {can}. Change its access on the desktop.");
        Self { kind: Some("scope"), ..Self::new(-32000, message) }
    }

    pub fn busy(reason: impl Into<String>) -> Self {
        Self::new(-32000, reason)
    }

    /// Another program has the session open.
    pub fn open_elsewhere(reason: impl Into<String>) -> Self {
        Self { kind: Some("open"), ..Self::busy(reason) }
    }

    pub(crate) fn to_wire(&self) -> Value {
        let mut wire = json!({"code": self.code, "message": self.message});
        for (key, value) in [("hint", self.hint), ("code", self.kind)] {
            if let Some(value) = value {
                wire["data"][key] = value.into();
            }
        }
        wire
    }
}

impl From<LocalModelsError> for Fault {
    fn from(error: LocalModelsError) -> Self {
        let (kind, fault): (_, fn(String) -> Self) = match &error {
            LocalModelsError::Licence { .. } => ("licence", Self::busy),
            LocalModelsError::Unknown(_) => ("unknown_model", Self::not_found),
            LocalModelsError::Refused(_) => ("refused", Self::busy),
        };
        Self { kind: Some(kind), ..fault(error.to_string()) }
    }
}

impl From<AgentsError> for Fault {
    fn from(error: AgentsError) -> Self {
        let (kind, fault): (_, fn(String) -> Self) = match &error {
            AgentsError::Unknown(_) => ("unknown_agent", Self::not_found),
            AgentsError::Refused(_) => ("refused", Self::busy),
        };
        Self { kind: Some(kind), ..fault(error.to_string()) }
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::internal(error.to_string())
    }
}

impl From<getrandom::Error> for Fault {
    fn from(error: getrandom::Error) -> Self {
        Self::internal(format!("The operating system returned no random numbers: {error}."))
    }
}

impl From<SessionError> for Fault {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Invalid(reason) => Self::invalid_params(reason),
            SessionError::UnknownWorkspace(_) => Self {
                hint: Some("Open it on the desktop, or start OpenAgents there, then try again."),
                ..Self::invalid_params(error.to_string())
            },
            SessionError::NoWorkspace => Self::invalid_params(error.to_string()),
            SessionError::NotFound(what) => Self::not_found(what),
            SessionError::Forbidden(reason) => Self { kind: Some("scope"), ..Self::busy(reason) },
            SessionError::Refused(reason) => Self { kind: Some("refused"), ..Self::busy(reason) },
            SessionError::Busy(reason) => Self::busy(reason),
            SessionError::Internal(reason) => Self::internal(reason),
        }
    }
}
