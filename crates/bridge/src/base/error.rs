//! Errors at the boundary: a code for programs, a sentence for users, and an optional hint.

use openagents_core::{agent::AgentsError, model::LocalModelsError};
use openagents_sessions::{SessionError, store::StoreError};
use openagents_wire::Scope;
use serde_json::{Value, json};
use std::{net::SocketAddr, path::PathBuf};

/// An error that keeps a bridge from starting.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BridgeError {
    /// Another program listens on the port.
    #[error("port {0} is in use; choose another with --port, or 0 for any")]
    PortBusy(u16),
    /// The port cannot be bound for another reason.
    #[error("cannot listen on {address}: {reason}")]
    Listen {
        /// The address to bind.
        address: SocketAddr,
        /// The operating system's error.
        reason: String,
    },
    /// Another bridge is running on this data folder.
    #[error("OpenAgents is already running on this data folder{}", at_address(.address.as_deref()))]
    AlreadyRunning {
        /// The address of the running bridge, if known.
        address: Option<String>,
    },
    /// The data folder cannot be used.
    #[error("cannot write to the data folder {}: {reason}", path.display())]
    NotWritable {
        /// The folder, or the file in it.
        path: PathBuf,
        /// The operating system's error.
        reason: String,
    },
    /// `--ios allow` was combined with `--lan`.
    #[error("--ios allow accepts every program on this computer and cannot be combined with --lan")]
    OpenOnNetwork,
    /// The providers could not be created.
    #[error("cannot start: creating the providers failed")]
    Providers,
    /// The session store cannot be opened.
    #[error("cannot open the session store: {0}")]
    Store(StoreError),
}

fn at_address(address: Option<&str>) -> String {
    address.map(|address| format!(" at http://{address}")).unwrap_or_default()
}

impl BridgeError {
    /// Returns a code for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::PortBusy(_) => "port_busy",
            Self::Listen { .. } => "listen",
            Self::AlreadyRunning { .. } => "already_running",
            Self::NotWritable { .. } => "not_writable",
            Self::OpenOnNetwork => "open_on_network",
            Self::Providers => "providers",
            Self::Store(_) => "store",
        }
    }

    /// Returns a hint on how to fix the error, if there is one.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::PortBusy(_) => Some("Use --port 0 to let the system pick a free port."),
            Self::AlreadyRunning { .. } => {
                Some("Use the running one, or set OPENAGENTS_HOME to another folder.")
            }
            Self::NotWritable { .. } => Some("Set OPENAGENTS_HOME to a folder that you can write to."),
            Self::OpenOnNetwork => Some("Use --ios ask, and allow each phone on the desktop."),
            Self::Listen { .. } | Self::Providers | Self::Store(_) => None,
        }
    }
}

impl From<StoreError> for BridgeError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NotWritable { path, reason } => Self::NotWritable { path, reason },
            other => Self::Store(other),
        }
    }
}

/// A JSON-RPC error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Fault {
    pub(crate) code: i32,
    pub(crate) message: String,
    pub(crate) hint: Option<&'static str>,
    /// A code for programs, where the JSON-RPC code is not specific enough.
    pub(crate) kind: Option<&'static str>,
}

impl Fault {
    fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None, kind: None }
    }

    pub(crate) fn parse(reason: impl Into<String>) -> Self {
        Self::new(-32700, reason)
    }

    pub(crate) fn invalid_request(reason: impl Into<String>) -> Self {
        Self::new(-32600, reason)
    }

    pub(crate) fn method_not_found(method: &str) -> Self {
        Self::new(-32601, format!("Method not found: {}", openagents_sessions::prune::head(method, 100)))
    }

    pub(crate) fn invalid_params(reason: impl Into<String>) -> Self {
        Self::new(-32602, reason)
    }

    pub(crate) fn internal(reason: impl Into<String>) -> Self {
        Self::new(-32603, reason)
    }

    pub(crate) fn not_found(what: impl Into<String>) -> Self {
        Self::new(-32002, what)
    }

    /// The device lacks the scope for a call.
    pub(crate) fn out_of_scope(scope: Scope) -> Self {
        let can = match scope {
            Scope::View => "only view",
            Scope::Prompt => "view and prompt",
            Scope::Approve => "view, prompt and approve",
            Scope::Admin => "do everything but this",
        };
        let message = format!("This device can {can}. Change its access on the desktop.");
        Self { kind: Some("scope"), ..Self::new(-32000, message) }
    }

    pub(crate) fn busy(reason: impl Into<String>) -> Self {
        Self::new(-32000, reason)
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
            SessionError::Busy(reason) => Self::busy(reason),
            SessionError::Internal(reason) => Self::internal(reason),
        }
    }
}
