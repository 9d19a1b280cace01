//! The errors that keep a bridge from starting: a code for programs, a sentence for users, and an optional hint.

use openagents_sessions::store::StoreError;
use std::{net::SocketAddr, path::PathBuf};

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BridgeError {
    /// Another program listens on the port.
    #[error("port {0} is in use; choose another with --port, or 0 for any")]
    PortBusy(u16),
    /// The port cannot be bound for another reason.
    #[error("cannot listen on {address}: {reason}")]
    Listen {
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
